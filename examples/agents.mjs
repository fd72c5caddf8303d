// Two roles in JavaScript, called through the endpoint that llmzoo gives: a caller says a digit, and an
// echo repeats it. javascript_program.py makes it an environment.

const task = JSON.parse(process.env.LLMZOO_TASK);

async function ask(role, text) {
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
    },
    body: JSON.stringify({ model: role, messages: [{ role: "user", content: text }] }),
  });
  const reply = await response.json();
  if (!response.ok) throw new Error(reply.error.message);
  return [...reply.choices[0].message.content.trim()][0] ?? ""; // a character, never half of a 🙂
}

const first = await ask("caller", `sudoku ${task.prompt} digit`);
const second = await ask("echo", `echo ${first}`);
const isDigit = (text) => /^[1-4]$/.test(text);
const same = isDigit(first) && first === second;
const reward = { caller: 0.2 * isDigit(first) + same, echo: 0.2 * isDigit(second) + same };
console.log(JSON.stringify({ reward, success: same }));
