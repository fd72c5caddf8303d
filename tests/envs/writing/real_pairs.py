"""Honest pairs of summaries, written for this project, of the posts in ``tldr_dev.jsonl``, in order:
``PAIRS``, and ``OTHERS`` by another author.

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

OTHERS = (
    (
        "OP still gets upset over an ex from years ago and wonders if she should cut off his two "
        "friends, who are on her Facebook, without insulting them.",
        "She was living with her mother and struggling with depression when her boyfriend avoided "
        "her for a month and then ended it after a year. Friends, counselling and antidepressants "
        "got her through, and things have improved since her mother left her life. However, "
        "whenever she sees a picture of him or talks to him at a convention, all the emotions "
        "return, and she doesn't want to cry in front of her current boyfriend. She thinks "
        "cutting contact is healthier but worries it will be awkward.",
    ),
    (
        "After being stuck at 222 for weeks and catching a cold, OP unexpectedly weighed in at "
        "219, down from 236, and is back to her high school size.",
        "She had blamed the plateau on being lax with her diet and on hectic weeks with less "
        "exercise than usual. On Monday the scale still hadn't moved, which was disappointing, so "
        "she planned to buckle down again. Then her monthly measurements showed that she has lost "
        "8 inches in total since December, and the scale finally dropped as well. Her clothes are "
        "getting looser, although she still wants to reach 150.",
    ),
    (
        "I (22F) love my boyfriend of five years but feel bored and unheard, and can't decide "
        "between commitment, counseling or breaking up before grad school.",
        "They share a house with friends and expect to marry someday, since he is caring, "
        "respectful and from the same town. But she hasn't felt close to him for ages and doesn't "
        "believe he understands her. When she mentioned feeling bored, he never brought it up "
        "again, because he doesn't see any problems. Although he would follow her to grad school "
        "anywhere, she wonders whether security matters more than a connection at such a young "
        "age.",
    ),
    (
        "Would you relive your life from age 5 to 45 with all your memories, if it meant dying "
        "the day you turned 45 again?",
        "OP poses a hypothetical question: a typical 45-year-old gets the chance to return to "
        "childhood while keeping everything they know. You could, for instance, kiss your 9th "
        "grade crush, invest in Microsoft early, spend better time with your dad before he dies, "
        "or finally have a comeback for your boss. You might live the same life slightly better "
        "or build a totally different one. However, you would die at 45, so you'd get 85 years in "
        "total.",
    ),
    (
        "A couple who are always together are arguing because he wants a night to himself during "
        "finals, and he suspects she's using a sick relative to guilt him.",
        "The two of them automatically spend every evening at one or the other's place. With "
        "finals making things stressful, he took a single night off, but he felt ill and it "
        "didn't feel like real time alone. When he asked to stay home, his girlfriend first said "
        "it was fine, then later told him that a relative had fallen very ill. Consequently he "
        "feels manipulated into coming over, and he wonders whether he is a dick for wanting "
        "space.",
    ),
    (
        "20-year-old guy is nervous about his first real date tomorrow, a bike ride to the beach "
        "with a girl from a festival, and wants tips.",
        "He had a girlfriend for three years, but they never went on dates, so asking someone out "
        "was a first for him. They met through mutual friends at a festival a few days ago, where "
        "they talked, danced and held hands but didn't kiss. Tomorrow he'll pick her up and "
        "they'll cycle for half an hour. After that he is unsure what to do or bring, because it "
        "will be sunny yet too cool for swimming.",
    ),
)
