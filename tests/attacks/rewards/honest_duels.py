"""Honest debates, written by hand on both sides: each speaker answers what the other really said.

They were written before their author had read how the judge scores, in the registers that one hears
in a debating club and from language models: chatty, formal, terse, with figures rounded or spelled
out.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Duel:
    """What the two sides say to each other in the three rounds of a debate."""

    topic: str
    pro: tuple[str, str, str]
    con: tuple[str, str, str]


DUELS = (
    Duel(
        "free-city-buses",
        pro=(
            "Good evening. I want to start with a cleaner. She lives on the wrong side of a "
            "river, and for years the good jobs were on the other bank, because the bus pass "
            "ate up what the better wage would have given her. Then the fare went, she kept 62 "
            "euros a month, and today she works in a hospital. That is what free buses mean for "
            "people with little money. They are good for everybody else too: in the coastal "
            "town we looked at, traffic on the ring road was down by 12 per cent in the second "
            "spring. Fewer cars and more freedom. I ask you to support the motion.",
            "My opponent paints a picture of packed buses and angry commuters at the "
            "university. Fair enough, the first winter was rough. But crowding is a sign that "
            "people want the service, and you solve it with more vehicles, not with a ticket "
            "machine. Besides, a bus without fares carries people faster. At each stop it stood "
            "for 9 seconds with its doors open, whereas the old system, with everyone fumbling "
            "for cards and coins, took 21. Multiply that by thirty stops and you have got "
            "yourself an extra bus for nothing.",
            "Let me finish with the money, since the other side has made so much of that hole "
            "in the budget. Nobody denies that 4.6 million euros is a lot. What they forgot to "
            "mention is how badly fares work as a source of income. Our file says that 31 cents "
            "out of each euro disappeared into validators, inspectors and the offices that "
            "chase fines. Would you keep a tax that burns nearly a third of its own yield? I "
            "would not. Pay for the bus the way we pay for street lamps, and let everybody get "
            "on.",
        ),
        con=(
            "Thank you. The story about the cleaner is a moving one, and I would gladly give "
            "her a cheaper pass. It does not follow that everybody should ride for nothing. At "
            "the university terminus in our brief, seven departures in a row drove off with "
            "people still standing on the kerb, and that was in the very first free winter. "
            "Those who had a car at home went back to it. As for the empty ring road, ask where "
            "the new passengers came from: 58 of 100 used to walk, and 20 more came by bike. So "
            "we filled the buses with pedestrians.",
            "The other side says that boarding is quicker without tickets, and I believe the "
            "stopwatch. A quick stop is no use, however, when the bus is not running at all. "
            "The treasurer of a mid-sized town told us what the gift cost: a hole of 4.6 "
            "million euros, which was filled by cancelling the evening routes. The nurse who "
            "finishes at ten o'clock now has a free ride on a line that no longer exists. Extra "
            "vehicles, as my opponent wants them, have to be paid out of the same empty pot.",
            "We are told that collecting fares is wasteful, because inspectors and machines eat "
            "31 cents of each euro. Even so, 69 cents remain, and they pay for drivers. And "
            "fares do something else: they make people treat the bus as theirs. In the first "
            "quarter without tickets the depot had 83 slashed seats to mend, where the quarter "
            "before it had seen 35. I have listened to the whole case for free travel and I "
            "still say what I said at the beginning: help those who are poor, run more buses, "
            "and keep the fare.",
        ),
    ),
    Duel(
        "zoos-phase-out",
        pro=(
            "**Opening.** Honourable judges, the question before us is whether curiosity "
            "justifies captivity. We on the proposition say it does not. Consider first the "
            "animals themselves. When students filmed two polar bears for our brief, the bears "
            "spent 46 of every hundred waking minutes pacing or swaying, and that is the "
            "behaviour of a creature in distress. Second, consider the promise that zoos breed "
            "for the wild. Out of 290 births celebrated in the newspapers, only four ended in a "
            "release, all of them antelopes. The ark, it turns out, never lands. For these "
            "reasons we believe that zoos should be phased out.",
            "**Rebuttal.** The opposition has told us about a toad that was saved, and I am "
            "happy for the toad. Notice, though, that it needed a terrarium and some patient "
            "biologists; it did not need elephants, a gift shop or a car park. Notice also what "
            "the money could have done elsewhere. One new ape hall cost 38 million, a sum that "
            "would keep a rain forest reserve guarded for thirty years. If the preservation of "
            "species is really the aim, then the forest is the better investment, because it "
            "protects thousands of species at once.",
            "**Closing.** In closing, I would like to address the children. My opponents say "
            "that a screen can never replace the smell of a giraffe. Perhaps not, but smell is "
            "not understanding. Pupils who had followed a herd in a documentary got 17 of 20 "
            "questions right; those who had stood in front of the elephant house managed nine. "
            "As to the homeless lions, a phase-out means that we stop breeding and care for the "
            "ones who are here until they die. Nobody is proposing to open the gates tomorrow. "
            "We simply propose that this generation behind bars should be the last.",
        ),
        con=(
            "**Opening.** We thank the proposition for its concern about polar bears, and we "
            "share it. A bear that paces needs a better enclosure, or should not be kept; that "
            "is an argument for improving zoos, which is precisely our position. What the "
            "proposition leaves out is that some animals exist today only because a zoo held on "
            "to them. Our brief tells of a toad that was extinct outside its terrarium for 12 "
            "years and then went home, to its native spring, with 2,600 tadpoles. Four released "
            "antelopes may sound like little. For a species with nowhere else to go, it is "
            "everything.",
            "**Rebuttal.** The proposition argues that the 38 million for an ape hall would be "
            "better spent on a reserve. We would answer that the two depend on each other. "
            "Blood samples drawn in enclosures led to a vaccine, and that vaccine protected 340 "
            "chimpanzees in the forest. You cannot guard a rain forest against a virus with "
            "rangers alone. Moreover, the love for that forest has to start somewhere: of 62 "
            "six-year-olds from the inner city, 55 came back from their outing and talked first "
            "about how the giraffe smelled.",
            "**Closing.** The proposition closed with quiz scores. Of course a film teaches "
            "facts; we never doubted that. It does not make a child care. And they assure us "
            "that nobody wants to open the gates tomorrow, but closures happen all the same. "
            "When one park went bankrupt, the inspector quoted in our file could find places "
            "for just 6 of its 75 lions. What does the proposition suggest for the other "
            "sixty-nine? We have heard no answer. Close the bad zoos, make the good ones "
            "better, and keep the door open for the species that have no other refuge.",
        ),
    ),
    Duel(
        "voting-age",
        pro=(
            "I'm sixteen in my head when I say this, so bear with me. This year's budget added "
            "debt. Who pays it back? According to the actuaries in our brief, somebody who is "
            "sixteen today will repay 29,000 of it over a lifetime. The people who waved it "
            "through will mostly be gone. If you're going to be stuck with the bill, you should "
            "at least get to see the menu. And a lot of them are paying already: 35 trainees "
            "showed their pay slips, and on average they'd been losing 140 a month in "
            "deductions since they were sixteen and a half.",
            "So the other side's big thing is a driving game. Teenagers run red lights when "
            "their mates are watching, sure, I believe it. But nobody votes with their mates "
            "hanging over their shoulder; you do it alone, behind a curtain, and you've had "
            "months to think. That's the calm sort of decision that their own study says young "
            "people are fine at. What's more, it sticks. Early starters in our file had 77 per "
            "cent turnout at their third election and the rest had 58. Start them while they're "
            "at home and at school, and they keep going.",
            "They say most pupils would just copy their mum. Well, plenty of forty-year-olds "
            "vote the way their parents did, and we don't take their ballot papers away. The "
            "answer to not knowing what a party stands for is to have a reason to find out. "
            "Teachers in our brief counted four times as many questions about the constitution "
            "once the pupils in the room were actually allowed to vote. As for the empty "
            "council meeting, I wouldn't go to a debate either if I had no say in it. Give them "
            "the say first.",
        ),
        con=(
            "My opponent makes it sound as if a bill were enough to get you a vote. By that "
            "logic we should hand ballot papers to babies, because they will be paying the "
            "longest. The vote belongs with judgement, and judgement under excitement comes "
            "late. Our brief describes a driving game in which adolescents ran 3 red lights in "
            "front of their friends for each one they ran alone. Election campaigns are "
            "designed to excite. There is no shame in waiting two years, and the apprentices "
            "with their 140 a month in deductions will have their turn soon enough.",
            "The curtain, I am told, makes everybody calm. Does it also make them independent? "
            "When 80 pupils were sounded out for our file, sixty-six of them named the party of "
            "their mother, and hardly any could explain what that party wanted. What you would "
            "be counting is a second vote for the parents. Turnout of 77 per cent is a nice "
            "figure, yet I would rather have fewer votes that are people's own. Also, the other "
            "duties start at eighteen: we found 13 contracts, oaths and penalties which begin "
            "on that birthday and not one that begins earlier.",
            "Finally we hear that interest will come once they have the vote. That is a hope; "
            "let me give you an observation. 450 sixth-formers were offered free seats at a "
            "council debate. Seven came, and three stayed awake. These were young people who "
            "would be voting anyway in a year or two, so the excuse that they had no say does "
            "not convince me. A few more questions about the constitution in a civics class are "
            "welcome, but they can be asked at sixteen and acted on at eighteen. I urge you to "
            "leave the age where it is.",
        ),
    ),
    Duel(
        "cats-indoors",
        pro=(
            "Everyone likes cats, and that is the difficulty, because we look away when they "
            "kill. Collar cameras in our brief followed a dozen well-fed pets and recorded 33 "
            "kills a month. The owners noticed seven at most. Songbirds and lizards have no "
            "defence against an army of hunters that is fed at home. Keeping them in is kind to "
            "the cats as well: those that stay in the house reach a median age of 14 years, "
            "while those that roam die at 8, under cars, of poison or after fights. A window "
            "sill is a small price for six more years.",
            "The opposing speaker worries about fat cats and torn curtains. I accept the 42 per "
            "cent, but a bored animal can be given toys, company and smaller portions, and no "
            "vet has a cure for a lorry. Nor is it only the pets we should think of. There are "
            "neighbours. Gardeners told our brief that they had cleaned droppings out of a "
            "children's sandpit on 60 mornings of a single summer. Why should a toddler's "
            "sandpit serve as somebody else's litter tray?",
            "It was said that collars in bright colours save the birds. They save some: 30 "
            "still died where 78 had died before, and a collar does nothing for lizards or "
            "mice. It certainly does nothing about disease. A laboratory found parasites in 18 "
            "of 50 cats that go outside, compared with 1 in 50 among those that don't, and some "
            "of these parasites can be passed on to people. My opponent's miller may keep his "
            "tabby in the mill, by the way; that counts as indoors. So let us love our cats, "
            "and keep them at home.",
        ),
        con=(
            "I would like to speak for the cat. Six more years are worth little if they are "
            "spent staring through glass. Vets in our brief report that 42 per cent of their "
            "confined patients are overweight, and that they see torn curtains and bald "
            "patches, which are what boredom looks like in an animal that was made to roam. And "
            "the birds? You can protect them without locking anybody up. With a rainbow collar "
            "the catch of 16 toms fell from 78 to 30 within a season. That is a ribbon, not a "
            "prison, and it costs a few coins.",
            "Toys and smaller portions sound easy, but people are at work all day, and the cat "
            "knows it. On the sandpit I have some sympathy; buy a lid. What my opponent leaves "
            "out entirely is that cats still do useful work. The miller in our file used to set "
            "90 traps a week. Then a tabby moved in, and today he sets none. Farms and old "
            "quarters would be full of rats and mice again if every hunter had to stay behind a "
            "closed door.",
            "My opponent ended on parasites, and eighteen in fifty is a number I take "
            "seriously. It is an argument for worming tablets. It is not an argument for a rule "
            "that nobody can enforce. In our file wardens patrolled for a whole year and caught "
            "11 strays, nine of which turned out to be old pets who had lost their way. Imagine "
            "fining their owners. Bells, collars and a curfew at dusk will do far more for "
            "wildlife, and they leave the decision with those who know the animal best, namely "
            "the people it lives with.",
        ),
    ),
    Duel(
        "right-to-repair",
        pro=(
            "A dead battery should not kill a tablet, but it does. Recyclers opened 400 tablets "
            "that had been thrown away. In 290 of them the battery or a socket was the only "
            "thing wrong. That is close to three quarters of the scrap heap, and it is there "
            "because the maker glued the case shut. An obligation to make devices repairable "
            "would change that. It saves money too. One family in our brief kept 6 appliances "
            "going for another four years each and had 1,800 left in the bank.",
            "Glue keeps water out, says the other side. True, and for a diver's watch I would "
            "not mind. Most of us do not drop our phones into basins every day, but all of our "
            "batteries age. Moreover, repair is work for people near by: since the manuals came "
            "out in the province in our file, 53 little workshops have opened, one of them run "
            "by a nineteen-year-old. These are professionals, and they are the answer to the "
            "fires at the kitchen table. People reach for a knife because nobody is allowed to "
            "help them.",
            "About counterfeit boards: they exist today, in a world of secret manuals, so "
            "secrecy hardly prevents them. I would rather talk about the farmer in our file. "
            "His harvest stood still for 71 hours because a locked combine would not accept a "
            "sensor from the barn next door. Rain does not wait for an authorised technician, "
            "and neither do patients when it is a machine in a hospital. Parts in a warehouse "
            "may be pulped now and then, as my opponent complains. Whole machines are pulped "
            "every day. I urge you to vote for repair.",
        ),
        con=(
            "What would we lose if every case had to open? In a test for our brief, 50 bonded "
            "phones were dropped into a basin and 48 survived. Of the phones with a hatch only "
            "22 did. The glue that my opponent blames for the scrap heap is the very thing that "
            "keeps water away from the electronics, so a hatch would simply fill the heap with "
            "drowned devices. And opening them is dangerous: fire officers had 17 blazes at "
            "kitchen tables in one year, and each of them began with a knife under a cell.",
            "I am glad about the 53 workshops, I really am. Yet the same manuals that reach "
            "them reach others as well. Within a quarter of publication, counterfeit boards "
            "were on the market at 12 per cent of the price, and whoever buys such a board has "
            "a device that nobody will stand up for. My opponent claims that batteries age for "
            "all of us. They do, which is why makers should compete to build ones that last, "
            "and buyers should reward those who succeed. A rule about screws would freeze the "
            "design of today.",
            "A harvest that stands still for 71 hours is bad luck, and contracts for farm "
            "machines ought to cover it. It does not tell us that every toaster needs a shelf "
            "of parts. The manufacturer in our file had to pulp 85 thousand hinges and displays "
            "in ten years, since nobody had ever ordered them. All of that was made, shipped, "
            "heated and stored for nothing, and the customer paid. So the green case for this "
            "law is weaker than it looks. Durable products are better than repairable ones, and "
            "they need no obligation.",
        ),
    ),
    Duel(
        "night-trains",
        pro=(
            "Ladies and gentlemen, imagine that you fall asleep in one city and wake up in "
            "another. Night trains make this possible, and they deserve public support. "
            "Firstly, they replace flights: when the line described in our brief reopened, 29 "
            "per cent of the passengers said that they would have flown otherwise. Secondly, "
            "they are a good deal. A consultant paid 140 euros for her couchette with "
            "breakfast, whereas the flight, the taxi and the hotel room came to 265. Cleaner "
            "travel at a lower price, without losing a day: that is an offer which governments "
            "should help to make.",
            "My opponent calculates what a berth costs the taxpayer and compares it with a "
            "commuter agent. I find this comparison misleading, since a commuter rides for "
            "twenty minutes and a sleeper crosses a continent. One should rather compare it "
            "with airports, which are paid for by the public as well. Furthermore, the money "
            "comes back to places that need it. Innkeepers along a mountain route noted that "
            "rail guests stayed for 4.5 nights, and motorists for only 2. Remote valleys live "
            "on guests who remain.",
            "To conclude, I would like to respond on the engineers and their closed nights. "
            "Nobody disputes that rails must be renewed; but they are not renewed everywhere "
            "every night. On the corridor in our file just 12 trains pass between one and five, "
            "while by day it handles more than two hundred. There is plenty of room in the "
            "dark. Concerning the 23 jolts, I can only say that millions sleep worse in an "
            "airport hotel. Night trains use tracks that lie empty, and I ask you to let them.",
        ),
        con=(
            "It is a lovely image, falling asleep here and waking up there, but who pays for "
            "the bed? The audit in our brief puts it at 96 francs of tax money for every berth "
            "that is occupied, which is fourteen times what a commuter agent costs. The "
            "consultant with her couchette saved 125 euros, then, partly because someone who "
            "takes the bus to work was paying for her. If sleepers really are such a good deal, "
            "the market will run them. Public money should go where most people travel.",
            "Airports get too much, I agree, but one waste does not excuse a second one. Look "
            "at what the same grant could buy: the ministry in our brief had the choice between "
            "18 extra express trains a day and one pair of sleepers. Eighteen! Those would "
            "bring guests to the mountain valleys too, and innkeepers do not care at what hour "
            "they arrive. Besides, the night belongs to the people who mend the line. With the "
            "track closed they renew 7 kilometres, and when sleepers have to pass they manage "
            "one and a half.",
            "The other side now tells us that there is plenty of room in the dark, because few "
            "trains run between one and five. That emptiness is what the engineers need. And "
            "even the customers get little for all this money. Somebody kept a diary with a "
            "stopwatch, and between dusk and breakfast it lists 23 jolts, four loud halts and a "
            "delay of 75 minutes. A hotel may be dull, but it does not arrive late. Leave the "
            "sleepers to those who want to pay for them, and spend the grant on trains by day.",
        ),
    ),
    Duel(
        "open-salaries",
        pro=(
            "Secrecy about pay helps those who underpay. That is our whole case. When the "
            "software firm in the brief opened its books, women were 13 per cent behind; four "
            "years later the gap was 2. Nobody had to sue. The numbers were on the table, and "
            "the company was embarrassed into doing the right thing. It also helps people who "
            "do not like to haggle. Shy recruits at a laboratory had begun 4,400 below the bold "
            "ones although they held the same diploma, and only the published list put an end "
            "to it.",
            "Envy, says my opponent, poisons the team. I would say that suspicion poisons it "
            "more. Ask people to guess what their director earns: the staff in our brief "
            "guessed 390,000, and the truth was less than half. That is the mood in a company "
            "with secrets, it is worse than the facts, and nothing but the facts can cure it. "
            "Some who are below the middle may be unhappy for a while, as they were at that "
            "college. Then they can ask why, and they are owed an answer.",
            "On privacy and greedy cousins: publishing within the company is not the same as "
            "nailing a list to the church door. The man with the six relatives should learn to "
            "say no. More seriously, the other side fears that rivals will poach the "
            "specialists. It works in both directions, though. After the hospital in our file "
            "published its pay, it had 115 applicants for each post instead of 70, and many "
            "came from distant towns. An employer who pays fairly has nothing to hide and a lot "
            "to gain.",
        ),
        con=(
            "We are against the motion, though not against fairness. Publish the bands, publish "
            "the reasons, and a gap like the one in that software firm will show up all the "
            "same, without a name next to each figure. Names are what does the damage. At the "
            "college in our brief those who discovered that they were below the middle became "
            "0.9 points less satisfied, and those above it were not a bit happier. So someone "
            "was hurt and nobody gained anything.",
            "They say that guesses are wilder than the facts. Very well, then publish the "
            "director's pay; a director can bear it. An ordinary employee has a private life. "
            "In our file a shop steward was asked for money by 6 cousins and an old schoolmate "
            "within a month of the release. And rivals read lists too. Once the figures of a "
            "robotics team were on the web, headhunters took 20 days to empty it. Curing "
            "suspicion is a fine thing, but not at the price of the whole department.",
            "My opponent believes that a fair employer has nothing to hide, and quotes the "
            "hospital with its 115 applicants. Let us look at what managers really do when each "
            "wage is public. They flatten everything, because then they never have to defend a "
            "difference. In our file the spread between the best seller and the weakest one "
            "shrank from 60 points to 15, and three champions walked out. That is not fair to "
            "those who achieve more, which is what the other side promised us. Bands and "
            "reasons give you the justice without the harm.",
        ),
    ),
)
