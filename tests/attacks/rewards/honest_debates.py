"""Honest speeches, written by hand: what the rule-based judge must value more than any attack.

Three ways to speak: ``short`` (few words, one piece of evidence, plainly put), ``talking`` (as people
talk, loosely built) and ``ordered`` (counted reasons). Each speaker meets the scripted expert, whose
opening, rebuttal and closing tell the first, second and third point of its brief.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Honest:
    """What one side says in the three rounds of a debate."""

    topic: str
    side: str
    style: str
    speeches: tuple[str, str, str]


HONEST = (
    Honest(
        "school-uniforms",
        "pro",
        "short",
        (
            "I think uniforms are a good idea. When every child wears the same jumper nobody can tell "
            "whose parents are poor. Our brief asked 412 pupils about this, and teasing over clothes "
            "went down from 38 to 11 in a hundred within a year.",
            "My opponent says clothes are how teenagers express themselves. But a teenager can do that "
            "in a hundred other ways, and those with cheap trousers get little joy out of it. Also, "
            "mornings are easier: one school had 230 late arrivals a month before the change and only "
            "140 after it.",
            "We heard that teachers waste their authority on policing socks. Then keep the rules simple. "
            "What parents want to know is the cost, and it is lower: families who kept their receipts "
            "paid 96 pounds for blazers and trousers instead of 171 for everyday clothes.",
        ),
    ),
    Honest(
        "four-day-week",
        "con",
        "talking",
        (
            "Look, I like a free Friday as much as anyone, and I can see why a firm would try it. But "
            "who picks up the telephone? The plumbing wholesaler in our file found out: three of its "
            "biggest accounts walked away within weeks, and they all said the same thing, that nobody "
            "answered on a Friday. The insurance firm we just heard about may have settled its 1,940 "
            "claims, yet settling claims can wait until Monday and a burst pipe cannot. Five days is "
            "what customers expect.",
            "So people burn out less, we are told, and sick leave at the design studio dropped. Fine. "
            "But what did the days themselves look like? In our brief the time sheets show days of 10 "
            "hours and 40 minutes, with most of the team having lunch at the desk. You do not rest "
            "people by squeezing the same tasks into fewer hours; you exhaust them from Monday to "
            "Thursday and let them recover on Friday.",
            "The other side ended up praising how companies hold on to experienced employees. Which "
            "employees, though? Not the nurse, not the cook, not the driver, because they cannot take "
            "their ward home early. In the hospital from our brief 92 porters and nurses signed a "
            "protest when only the billing department got the shorter schedule. A benefit that splits "
            "the staff in two is no way to keep anyone, and I would leave the week as it is.",
        ),
    ),
    Honest(
        "wolves-return",
        "con",
        "short",
        (
            "I am against this. A family of shepherds in our brief lost 37 ewes in a single night and "
            "then gave up the summer pasture for good. The woodland my opponent talks about may grow, "
            "but it will grow over farms that people had to leave.",
            "Visitors do fill guesthouses, as the other side says. Yet the people who live in the valley "
            "all year are afraid: half of the 84 parents asked for our file will not let a child wait "
            "alone at the bus stop any more. That fear is a price which tourists never pay.",
            "They tell us that sick animals are removed first and herds stay healthy. The packs "
            "themselves do badly, however. There are motorways everywhere now, and 9 of 20 collared "
            "animals in our file were run over by lorries or cars before they had a litter.",
        ),
    ),
    Honest(
        "video-referees",
        "pro",
        "ordered",
        (
            "We want football to give up video referees, for two reasons. First, they kill the best "
            "moment of the game. In the 50 matches recorded for our brief, supporters had to wait 94 "
            "seconds on average until they knew if a goal could be celebrated. Second, slow motion "
            "deceives the eye, because every innocent contact looks like a foul when it is stretched. "
            "So the screens cost us joy and do not even bring us truth.",
            "First let me answer the claim about glaring mistakes. Wrongly awarded penalties may have "
            "fallen, but other errors came in their place: when our panel saw 24 tackles slowed down, "
            "it called for a red card twice as readily as at normal speed. Second, the argument goes "
            "on anyway, only in a hidden room. Therefore the gain is much smaller than it sounds.",
            "Finally, about players who dive: it is true that acting is worth less when every corner has "
            "its lens, but a good official near the box sees it too. And the quarrel has not stopped. "
            "A fan magazine printed 118 letters about decisions before the screens and 131 in the "
            "season after, according to our brief. In conclusion, we were promised peace and got "
            "longer halts and more disputes.",
        ),
    ),
    Honest(
        "solar-roofs",
        "pro",
        "talking",
        (
            "Think of the moment when the scaffolding is up and the roofers are there anyway. That is "
            "when the modules should go on. Builders in our brief asked 3,900 francs then and 7,200 "
            "for the same array on a finished house, so whoever puts it off pays nearly double. I "
            "support the motion since it makes the cheap moment the normal one.",
            "Now, some plots are shaded, and I will not pretend otherwise; hills and pines exist. But "
            "the surveyor found 17 poor ones among 60, which leaves most houses in good light. And "
            "those houses are protected when energy gets dear. In the second winter of our file "
            "tariffs doubled: the terrace with arrays paid 41 francs more a month, the one across the "
            "street 118.",
            "We are told that first-time buyers are pushed away because the price goes up. Yet the price "
            "comes down once everybody does it, which is what happened in the province in our brief: "
            "apprenticeships for installers went from 45 to 260 in four years and the quotes fell. A "
            "luxury became an ordinary trade. Those buyers would get a home that also spares them "
            "half of the next jump in tariffs.",
        ),
    ),
    Honest(
        "homework-primary",
        "con",
        "ordered",
        (
            "I speak against the motion and have two points. First, diligence is a habit, and habits "
            "start young: of the apprentices in our brief those who had small duties at seven finished "
            "9 of 10 assignments on time, the others 6 of 10. Second, the tears over worksheets that "
            "we heard about are a sign of too much work, not of work as such. Ten quiet minutes would "
            "not spoil an evening.",
            "To begin with, my opponent is worried about pupils whose parents work nights. That worry "
            "is fair, but schools can offer a supervised half hour. What no lesson can offer is "
            "repetition. In the comparison in our file, the class that had ten minutes of practice "
            "each evening knew 92 of 100 times tables by spring, while its twin knew 68. Therefore "
            "the weak pupils are the ones who would lose most.",
            "Lastly, sleep and play. Of course young brains need both, yet a short exercise takes "
            "nothing from either. It gives something to the parents instead: fourteen of them told the "
            "brief that a crumpled page made them notice poor eyesight or dyslexia, about 7 months "
            "before a report from school. For these reasons I ask you to keep a little homework.",
        ),
    ),
)
