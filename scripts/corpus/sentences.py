"""How the articles say their facts: an opening, a sentence of each group, and some colour.

A line is one way to say a thing; of each group one is taken. Colour holds no facts.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wording:
    openings: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    colour: tuple[str, ...]


def _wording(openings: str, groups: str, colour: str) -> Wording:
    """Lines are alternatives; an empty line ends a group."""
    return Wording(
        _lines(openings),
        tuple(_lines(group) for group in groups.strip().split("\n\n")),
        _lines(colour),
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


WORDINGS = {
    "island": _wording(
        """
        {title} is one of the Veyl Isles, and covers {area_km2} square kilometres.
        With an area of {area_km2} square kilometres, {title} belongs to the archipelago of the Veyl Isles.
        Among the Veyl Isles, {title} is the one of {area_km2} square kilometres.
        """,
        """
        Its capital is {capital}, where the island council sits.
        The council of the island meets in {capital}, the capital.

        The island of {title} has a population of {population}, in the towns and in many small villages.
        At the last census the population of the island of {title} was {population}, villages included.

        The land rises to {highest_point}, {height_m} metres above the sea.
        From {highest_point}, at {height_m} metres, one sees the whole coast on a clear day.

        It was first surveyed in {surveyed}, by a crew that wintered on the beach.
        The first reliable map of the island is the survey of {surveyed}.
        """,
        """
        Fog is common in spring, and church bells guide the boats home.
        Sheep outnumber people by far, as every visitor is soon told.
        The west coast is all cliffs, while the east has long beaches of shingle.
        Islanders keep an old dialect that their neighbours claim not to understand.
        Stone walls divide the fields, and no two farmers agree on who built them.
        Winters are mild but wet, and roofs are weighted with stones against the gales.
        A ring road was begun twice and never closed.
        Wild thyme covers the upper slopes, which gives the local honey its taste.
        """,
    ),
    "town": _wording(
        """
        {title} is a town on the island of {island}, founded in {founded}.
        Founded in {founded}, {title} lies on {island}, one of the Veyl Isles.
        The town of {title} on {island} goes back to a charter of {founded}, the year it was founded.
        """,
        """
        It has a population of {population}.
        The town counts {population} inhabitants, by the register of the island.
        Its population stands at {population}, a little more than a generation ago.

        The market square lies {elevation_m} metres above sea level.
        At the town hall a brass plate gives the elevation: {elevation_m} metres.

        Visitors know it above all for {known_for}.
        The town is known for {known_for}, and shows it on its coat of arms.
        Its name stands for {known_for} throughout the isles.
        """,
        """
        Most houses are built of the grey stone that is cut in the hills behind.
        A narrow lane, barely wide enough for a cart, leads down to the water.
        On market days the streets are closed to carriages until noon.
        The old walls were pulled down when the town outgrew them, save for one gate.
        Children learn to row before they learn to read, or so it is said.
        The weekly paper prints the tides on its first page and the news on its last.
        A great fire destroyed the upper quarter, which was rebuilt with wider streets.
        The parish church has two towers of unequal height, the result of an old quarrel.
        An avenue of lime trees joins the square and the station of the mail coach.
        In autumn the smell of wood smoke hangs over the roofs for weeks.
        Every evening a watchman still calls the hour, though nobody needs it any more.
        The poor soil of the valley never fed the town, so it turned to trade.
        """,
    ),
    "bridge": _wording(
        """
        {title} joins {from} and {to}, and was opened in {opened}.
        Opened in {opened}, {title} carries the road from {from} to {to}.
        The road from {from} to {to} crosses {title}, which was opened in {opened}.
        """,
        """
        It is {length_m} metres long.
        From one end to the other it measures {length_m} metres in length.

        The deck rests on {spans} spans of equal width.
        Its {spans} spans were raised one after another, working from both banks.

        The work was planned by the architect {architect}.
        Its architect, {architect}, lived on the site until the last stone was laid.

        Building it cost {cost_marens} marens, which a toll repaid over many years.
        The accounts give the cost of construction as {cost_marens} marens.
        """,
        """
        A toll house at the northern end now serves soup to walkers.
        Carters complained of the slope, and an extra horse was kept at the foot of it.
        Swallows nest below the deck, where nobody is allowed to disturb them.
        During storms the gates on both sides are closed and a red lamp is lit.
        Couples tie ribbons to the railing, which the road wardens remove each spring.
        The parapet is so low that horses were once led across with covered eyes.
        An earlier wooden crossing stood upstream and was lost to drifting ice.
        Its stone came from both banks, so that neither side could claim the whole.
        """,
    ),
    "ferry": _wording(
        """
        The {title} runs between {from} and {to}.
        Between {from} and {to} passengers take the {title}.
        From {from} the {title} crosses the open water to {to}.
        """,
        """
        The route is {distance_km} kilometres long.
        Harbour to harbour the distance is {distance_km} kilometres.

        In fair weather a crossing takes {minutes} minutes.
        The timetable allows {minutes} minutes for the passage.

        A single fare costs {fare_marens} marens, and dogs travel free.
        Adults pay {fare_marens} marens for a single ticket.

        There are {sailings} sailings a day in each direction.
        Each day sees {sailings} sailings, fewer only when the strait freezes.

        The vessel in service is called {vessel}.
        Its ship, the {vessel}, has a white funnel with a yellow band.
        """,
        """
        Tea is served on deck in tin mugs, and the mugs are counted afterwards.
        The first boat of the morning carries the mail and the newspapers.
        Regular travellers have their own seats, and strangers are gently moved along.
        In thick fog the captain sounds the horn at every turn of the glass.
        Livestock travels at the stern, downwind of the passengers.
        The company has not lost a single passenger, though it has lost several hats.
        Seals follow the boat through the narrows, to the delight of children.
        """,
    ),
    "museum": _wording(
        """
        The {title} in {town} was opened in {opened}.
        Since {opened}, the year it opened, the {title} has stood in {town}.
        In {town} stands the {title}, opened to the public in {opened}.
        """,
        """
        Its collection holds {items} items, of which only a part is on show.
        The catalogue lists {items} items, each with a drawing.

        The collection is spread over {rooms} rooms.
        Visitors walk through {rooms} rooms on two floors.

        About {visitors} visitors come in a year.
        In an ordinary year it has {visitors} visitors.

        A ticket costs {ticket_marens} marens, and residents of the town pay nothing.
        Admission is {ticket_marens} marens for adults.
        """,
        """
        The founder left the house to the town on the condition that no clock be wound in it.
        A ship's cat guards the entrance and appears on the postcards.
        Labels are written by hand, and some of them contradict one another.
        Upstairs a workshop repairs what the visitors have been allowed to touch.
        Its guided tours end in the cellar, where the oldest pieces are kept.
        On the longest night of the year the rooms are lit by candles alone.
        Schools from all over the isles bring their pupils here in spring.
        The café in the courtyard is better known than the collection.
        """,
    ),
    "river": _wording(
        """
        The {title} is a river on the island of {island}, {length_km} kilometres long.
        On {island} flows the {title}, a river with a length of {length_km} kilometres.
        The {title}, {length_km} kilometres in length, is a river on {island}.
        """,
        """
        It rises at {source}, among heather and loose rock.
        Its source is {source}, which never runs dry.

        At {mouth} it reaches the sea.
        It flows into the sea at {mouth}, between two stone piers.

        On its way it passes under {bridges} bridges, footbridges included.
        Along its course stand {bridges} bridges of all sizes.
        """,
        """
        Trout are plentiful in the upper reaches, and poachers hardly less so.
        In dry summers the lower course can be waded, and cattle graze in its bed.
        A chain of small mills once worked along the middle valley.
        Floods have moved its bed so often that the parish border follows a river no longer there.
        The water is brown with peat, yet soft and good for brewing.
        Rafts of timber were floated down every spring until the road was built.
        Otters have come back to the quiet stretch above the rapids.
        Anglers swear by the hour before dawn and agree on nothing else.
        """,
    ),
    "festival": _wording(
        """
        The {title} is held every {month} in {town}.
        Every {month} the people of {town} celebrate the {title}.
        In {month} the streets of {town} fill for the {title}.
        """,
        """
        It was first held in {first_held}.
        The first of these festivals took place in {first_held}, as the town chronicle records.

        The celebration lasts {days} days.
        For {days} days hardly anybody goes to work.

        It draws some {visitors} visitors from all the isles.
        In a good year {visitors} visitors attend.
        """,
        """
        Every guild sends a cart, and the smallest guild goes first.
        Masks are worn until sunset, after which faces must be shown.
        The mayor opens it by breaking a jug, which the potters supply at no charge.
        Nobody remembers the origin of the custom, and three explanations are printed in the programme.
        Boats are decorated with branches and rowed twice around the harbour.
        At the end a straw figure is set adrift and watched until it is out of sight.
        Fried dough with plum jam is sold at every corner.
        Bands from rival quarters play against each other until one of them gives up.
        Rain has never stopped it, and the old people say that it would not be the same without.
        """,
    ),
    "company": _wording(
        """
        {title} is a company in {town} that makes {product}.
        In {town} the company {title} makes {product}.
        {title}, a company with its seat in {town}, is a maker of {product}.
        """,
        """
        It was founded in {founded} by {founder}.
        The founder, {founder}, set it up in {founded} with borrowed money.

        It has {employees} employees, many of them in the second generation.
        The works give employment to {employees} employees.

        Its yearly revenue is {revenue_marens} marens.
        According to the last report, revenue came to {revenue_marens} marens in a year.
        """,
        """
        The trademark, a running hare, was drawn by an apprentice on the back of an invoice.
        Workers are paid on Thursdays, so that the Friday market has something to sell.
        A dispute over the well behind the factory went through the courts for decades.
        Seconds are sold from a window in the yard, and the queue forms before breakfast.
        The works whistle sets the rhythm of the whole quarter.
        Its recipes and drawings are kept in an iron chest to which there are two keys.
        An order from the royal household made its name, although it was paid late.
        The firm keeps a brass band that wins prizes more often than the firm does.
        During the great frost it produced nothing but sledges.
        """,
    ),
    "person": _wording(
        """
        {title} was a {profession}, born in {born} in {birthplace}.
        Born in {birthplace} in {born}, {title} became a {profession}.
        The {profession} {title} was born in {birthplace} in the year {born}.
        """,
        """
        {He} is remembered above all for {the}{known_for}.
        {His} name is tied to {the}{known_for}, the work for which {he} is best known.

        {He} died in {died}, after a short illness.
        In {died} {he} died, and the flags of the harbour were lowered.
        """,
        """
        {He} never learned to swim, a fact that amused the fishermen among {his} friends.
        {His} letters, full of drawings, are kept in a private collection.
        As a child {he} was thought slow, since {he} answered only after long reflection.
        {He} rose before dawn all {his} life and disliked to be spoken to before breakfast.
        A small pension from an aunt allowed {him} to travel through all the isles.
        {He} refused two honours and accepted a third by mistake.
        Portraits show {him} with a spyglass, which was in truth a rolled map.
        {His} notebooks mention the weather on every day but one.
        {He} played the viola badly and with great pleasure.
        Towards the end of {his} life {he} taught at a village school.
        In {his} youth {he} went to sea for two summers and hated both.
        {He} left {his} books to the reading room of {his} home town.
        """,
    ),
    "species": _wording(
        """
        The {title} is a {group} that lives on {island} and nowhere else.
        Found only on {island}, the {title} is a {group} of the Veyl Isles.
        On {island} lives the {title}, a {group} known from no other island.
        """,
        """
        It was discovered in {discovered} by the naturalist {discoverer}.
        Its discovery in {discovered} is owed to the naturalist {discoverer}, who took it at first for a stray.

        Adults reach a length of {length_cm} centimetres.
        A full-grown animal has a length of {length_cm} centimetres.

        They weigh about {weight_g} grams.
        The average weight is {weight_g} grams.

        Its lifespan is about {lifespan_years} years.
        In the wild it has a lifespan of {lifespan_years} years.
        """,
        """
        It is most active at dusk and hides as soon as the wind turns.
        Its call resembles a gate in need of oil.
        Young animals are striped and lose their markings in the second winter.
        Pairs stay together for life, which does not keep them from quarrelling.
        Hunting it is forbidden, and even its empty nests may not be collected.
        It feeds on beetles, berries and whatever picnickers leave behind.
        Shepherds take its early appearance as a sign of a hard winter.
        Museums hold only a handful of specimens, most of them badly stuffed.
        It shares its burrows with shearwaters, apparently to the benefit of both.
        """,
    ),
    "lighthouse": _wording(
        """
        {title} is a lighthouse near {town} on {island}, built in {built}.
        Built in {built}, the lighthouse {title} stands near {town} on the island of {island}.
        Near {town}, on the coast of {island}, stands {title}, a lighthouse built in {built}.
        """,
        """
        The tower has a height of {height_m} metres.
        Its tower is {height_m} metres high and painted white.

        A stair of {steps} steps leads up to the lamp.
        Keepers climb {steps} steps to reach the lantern room.

        In clear weather its light has a range of {range_km} kilometres.
        Sailors see its light from {range_km} kilometres away, which is its full range.
        """,
        """
        The keeper also tends the tide gauge and a patch of cabbages.
        Its fog bell was cast from the cannon of a stranded frigate.
        The lamp has gone out once, on the night of a wedding.
        Supplies come by boat when the sea allows, and otherwise not at all.
        Migrating birds circle the lantern in such numbers that they dim it.
        The logbook records ships, whales, and the moods of successive keepers.
        A second, lower light was planned on the reef and never built.
        Its lens, polished once a week, throws coloured spots over the rocks.
        In summer painters set up their easels along the causeway.
        """,
    ),
}
