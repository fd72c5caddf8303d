"""Honest pairs of summaries, written for this project, of the posts in ``tldr_dev.jsonl``, in order.

The posts themselves stand in the folder of shared data, which is no part of the repository.
"""

from __future__ import annotations

PAIRS = (
    (
        "A 22-year-old woman thinks about unfriending two of her ex's friends on Facebook, because "
        "seeing him still upsets her years later, but she fears that the girls will be insulted.",
        "Her first real breakup, during a horrible time with her mother, left the author depressed "
        "until friends, counselling and mild medication helped. Almost three years later she has a "
        "new boyfriend; however, whenever she sees a picture of her ex or talks to him at a "
        "convention, the old emotions come back. Cutting contact with the girls would be healthier, "
        "but she does not know whether they would accept it or feel awkward.",
    ),
    (
        "After four weeks on a plateau at 222, a 30-year-old woman stepped on the scale and found "
        "that she weighs 219 now and has lost 8 inches since she began.",
        "She started at 236 pounds and wants to reach 150. Because her diet had been less strict and "
        "a crazy week had kept her from exercising, she was disappointed on Monday, and then she "
        "caught a cold as well. However, on her measuring day the scale suddenly showed less, four "
        "weeks after the last change. As a result her clothes feel looser, and she is lighter than "
        "at any time since high school.",
    ),
    (
        "After five years with a great boyfriend, the author, who is 22, feels bored and distant, and "
        "asks whether they should try counseling or whether she should break up with him.",
        "They have lived together for three months and are expected to get married. Although she "
        "trusts him, she has not felt close to her boyfriend for a long time, because he is "
        "happy-go-lucky and sees nothing wrong in their relationship. When she told him that she was "
        "bored, he never came back to it. Now she must choose between security and a connection, "
        "since grad school is coming and he would go wherever she goes.",
    ),
    (
        "Imagine that at 45 you may go back to being 5 and live your life again, knowing everything, "
        "but must die on the day when you are 45 once more: would you do it?",
        "The author has been asking everyone this question for years. You could kiss the person you "
        "missed in 9th grade, become a millionaire as a child by investing in Microsoft, enjoy the "
        "time before your dad passes away, or use a better comeback on your boss. For example, you "
        "might keep the same family, or instead build a completely different life. However, the "
        "catch is that you get 85 years altogether and then die.",
    ),
    (
        "A 23-year-old student spends nearly every hour with his girlfriend, and wonders if it is "
        "unreasonable to ask her for some space and time to himself during finals week.",
        "One of them always stays at the other's place unless they say otherwise. Because finals are "
        "stressful and he had to get up early, he took one night off, but he felt unwell, so it was "
        "not really time for himself. Then they argued: first his girlfriend said it was fine if he "
        "stayed home, but later she mentioned that a relative had fallen ill. He suspects that she "
        "wants to manipulate him and feels that he cannot win.",
    ),
    (
        "A nervous 20-year-old goes on his first real date tomorrow, cycling to the beach with a girl "
        "he met at a festival, and asks for tips on what to bring and do.",
        "They have mutual friends and already talked, danced and held hands, but did not kiss. "
        "Although he had a girlfriend for three years, they never actually dated, so asking somebody "
        "out was super hard for him. The plan is that he picks her up and they ride 30 minutes. "
        "After that he has no idea what to do at the beach, since the weather is dry but not good "
        "enough for swimming.",
    ),
)
