"""What the agents read: full sentences for chat models, and a few words for very small models."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.envs.crowd.delegate.reading import INSTRUCTION_CHARS, Assignment
from llmzoo.envs.crowd.delegate.tasks import DelegateTask, Page, Price, Question, Record
from llmzoo.envs.messages import quote_message

_NO_REPORT = "(no report)"
_WRITE_NUMBER = (
    "Answer the question with one whole number, and nothing else. A day is the number of the day."
)


def format_record(record: Record, terse: bool) -> str:
    """A record in a sentence, or in a few words."""
    if isinstance(record, Price):
        if terse:
            return f"{record.day} price {record.item} {record.price}"
        return f"day {record.day}: the price of {record.item} is {record.price} coins each"
    if terse:
        return f"{record.day} {record.person} {record.amount} {record.item}"
    return f"day {record.day}: {record.person} ordered {record.amount} {record.item}"


def format_page(page: Page, terse: bool) -> list[str]:
    """The lines of a page."""
    heading = f"page {page.title}" if terse else f"The page of {page.title}:"
    return [heading, *(format_record(record, terse) for record in page.records)]


def format_question(question: Question, terse: bool) -> str:
    """A question in a sentence, or in a few words."""
    kind, subject, titles = question
    if terse:
        if kind == "cost":
            return f"cost {subject} {' '.join(titles[:-1])} price {titles[-1]}"
        return f"{kind} {subject} {' '.join(titles)}"
    several = len(titles) > 1
    where = join_words(titles, "and")
    if kind == "total":
        return f"How many {subject} were ordered in {where}{' together' * several}?"
    if kind == "orders":
        return f"How many orders did {subject} make in {where}{' together' * several}?"
    if kind == "most":
        return f"In one of the months {where} the most {subject} were ordered: how many were that?"
    if kind == "cost":
        bought = join_words(titles[:-1], "and")
        return f"What do all {subject} ordered in {bought} cost together, at the price of {titles[-1]}?"
    which = "earliest" if kind == "first" else "latest"
    if several:
        return f"{subject} ordered in each of {where}: what is the {which} day of a month among these orders?"
    return f"What is the {which} day on which {subject} ordered in {where}?"


def format_instruction(question: Question, title: str, terse: bool) -> str:
    """What a worker must be asked about a page."""
    measure, subject = question.measure(title), question.subject
    if terse:
        return f"{measure} {subject}"
    return {
        "total": f"add up how many {subject} were ordered, and end with the sum",
        "orders": f"count the orders of {subject}, and end with the count",
        "first": f"find the earliest day on which {subject} ordered, and end with its number",
        "last": f"find the latest day on which {subject} ordered, and end with its number",
        "price": f"find the price of {subject}, and end with the price of one",
    }[measure]


def plan_prompt(task: DelegateTask, most: int, terse: bool) -> str:
    """The first prompt of the lead."""
    question = format_question(task.question, terse)
    if terse:
        titles = " ".join(task.titles)
        return (
            f"delegate lead\npages {titles}\nask {question}\nwrite 1 to {most} lines page: task\n"
        )
    lines = [
        f"You are lead_0. An order book has a page for each of these months: {', '.join(task.titles)}. "
        "You cannot see its pages.",
        "",
        f"The question: {question}",
        "",
        "Workers read pages for you. Write one line for each page that the question needs, of the form "
        "MONTH: instruction. Each line brings in one worker, who sees this page and your instruction, but "
        f"not the question, and writes you a report. You may write 1 to {most} lines; an instruction has "
        f"at most {INSTRUCTION_CHARS} characters. After the reports you answer the question.",
        "",
        "To answer now, without workers, write only one line of the form Answer: NUMBER.",
        "",
        "Your lines:",
    ]
    return "\n".join(lines)


def answer_prompt(
    task: DelegateTask,
    assignments: Sequence[Assignment],
    reports: Sequence[str],
    problem: str,
    terse: bool,
) -> str:
    """The last prompt of the lead. ``problem``: what was wrong with its first text."""
    question = format_question(task.question, terse)
    lines = (
        ["delegate lead", f"ask {question}"]
        if terse
        else [f"You are lead_0. The question: {question}", ""]
    )
    if problem and not terse:
        lines += [f"Your first text was not read in full: {problem}.", ""]
    for number, (assignment, report) in enumerate(zip(assignments, reports, strict=True), start=1):
        if terse:
            lines += [f"{assignment.title} {report or '-'}"]
        else:
            lines += [
                f"You asked worker_{number}, who read the page of {assignment.title}:",
                quote_message(assignment.instruction),
                f"worker_{number} reported:",
                quote_message(report or _NO_REPORT),
                "",
            ]
    if not assignments and not terse:
        lines += ["No worker has read a page.", ""]
    return "\n".join([*lines, "answer\n" if terse else f"{_WRITE_NUMBER}\n\nYour answer:"])


def worker_prompt(agent: str, page: Page, instruction: str, limit: int, terse: bool) -> str:
    """The prompt of a worker."""
    if terse:
        return "\n".join(
            ["delegate worker", *format_page(page, terse), f"task {instruction}", "report", ""]
        )
    lines = [
        f"You are {agent}. You read one page of an order book for lead_0, who does not see it. You cannot see "
        "other pages.",
        "",
        *format_page(page, terse),
        "",
        "The instruction of lead_0:",
        quote_message(instruction),
        "",
        f"Write a report to lead_0 of at most {limit} characters. End it with the number that was asked for.",
        "",
        "Your report:",
    ]
    return "\n".join(lines)


def reader_prompt(
    task: DelegateTask,
    notes: Sequence[str],
    page: Page | None,
    *,
    left: int | None,
    limit: int,
    problem: str,
    terse: bool,
) -> str:
    """The prompt of an agent alone. ``left``: the pages that it may still read; None if it must answer.
    ``page``: the one that it has asked for."""
    question = format_question(task.question, terse)
    if terse:
        lines = ["delegate reader", f"pages {' '.join(task.titles)}", f"ask {question}"]
        lines += [f"note {note}" for note in notes]
        lines += format_page(page, terse) if page else []
        more = f"read PAGE ({left} left) or answer N" if left else "answer N"
        end = "answer" if left is None else f"note, then {more}" if page else more
        return "\n".join([*lines, end, ""])
    lines = [
        f"You are lead_0. An order book has a page for each of these months: {', '.join(task.titles)}. You read "
        "one page at a time, and keep nothing of it but a note.",
        "",
        f"The question: {question}",
        "",
    ]
    if problem:
        lines += [f"Your last text was not read: {problem}.", ""]
    if notes:
        lines += ["Your notes so far:", *map(quote_message, notes), ""]
    if page:
        lines += [*format_page(page, terse), ""]
    if left is None:
        return "\n".join([*lines, _WRITE_NUMBER, "", "Your answer:"])
    if page:
        lines += [
            f"Write a note on this page of at most {limit} characters that ends with a number."
        ]
    if left:
        lines += [
            "End your text with a line of the form Read: MONTH to read a page, or of the form Answer: NUMBER to "
            f"answer the question. Pages that you may still read: {left}."
        ]
    else:
        lines += [
            "You may answer the question in a line of the form Answer: NUMBER now, or in your next text."
        ]
    return "\n".join([*lines, "", "Your text:"])


def whole_book_prompt(task: DelegateTask, terse: bool) -> str:
    """All pages and the question in one prompt."""
    question = format_question(task.question, terse)
    pages = [
        line for page in task.pages for line in ([] if terse else [""]) + format_page(page, terse)
    ]
    if terse:
        return "\n".join(["delegate reader", *pages, f"ask {question}", "answer", ""])
    opening = "You are lead_0. You have a question about an order book. These are its pages."
    return "\n".join(
        [opening, *pages, "", f"The question: {question}", "", _WRITE_NUMBER, "", "Your answer:"]
    )


def join_words(words: Sequence[str], last: str) -> str:
    """Words in a row: ``a, b and c``."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
