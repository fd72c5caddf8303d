"""The facts of the Veyl Isles: hand-picked names, and numbers drawn from a fixed seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from llmzoo.envs.tools.corpus import Fact

SEED = 7

# island: (highest point, its towns, the first of them the capital)
ISLANDS = {
    "Oskary": ("Mount Harrad", "Varnholt Ostrelle Quillmoor Tessary Pellwater"),
    "Tamrel": ("the Grey Steps", "Sundmere Brackling Korrivale Ashgrell Mirefold"),
    "Velisk": ("Candle Peak", "Thornquay Eldercomb Rosmarrow Lanthorne Gullhaven"),
    "Dornay": ("Mount Ellory", "Castermoor Wendlefen Marrowick Hollowgate Pinscar"),
    "Quessa": ("the Sleeping Ram", "Lirrendale Oakenrow Saltmarrow Fennigar Drumhallow"),
    "Ilmoor": ("Vesper Hill", "Cressolay Netherwyn Tolbray Harrowsund Blithemoor"),
    "Hespary": ("Mount Caldray", "Calderqua Yarrowden Stennivor Umberlea Wickersund"),
    "Brennock": ("the Broken Tooth", "Gravenport Skellidor Foxmantle Tarrowby Irongrave"),
}
KNOWN_FOR = """
blue roof tiles|smoked eel|a market of clocks|painted fishing boats|cherry orchards|a leaning
clock tower|hot springs|tall stone windmills|woollen blankets|a school of glassblowers|pear
brandy|black sand beaches|a floating post office|copper kettles|rope walks|honey cakes|a harbour
of red lanterns|terraced tea gardens|salt pans|a maze of stairs|carved wooden doors|sheep cheese|a
choir of bell ringers|paper kites|oyster beds|a walled herb garden|slate quarries|reed baskets|a
cable railway|peat cutting|dyed silk|a public observatory|amber jewellery|mustard fields|a town
hall without windows|violin makers|lemon groves|a tidal mill|puppet theatres|heather ale
""".replace("\n", " ").split("|")
ARCHITECTS = (
    "Ilse Marrant|Corvin Hale Astley|Nadra Pell|Tobias Quennell|Maris Overgaard|Jorun Thackel"
)
BRIDGES = """
Kestrel Span|Copper Bridge|Widow's Bridge|Lantern Bridge|Miller's Span|Queen Isaure Bridge|Pilgrim
Bridge|Whalebone Bridge|Saffron Bridge|Stormgate Bridge|Juniper Bridge|Bellfounders' Bridge|Amber
Span|Weaver's Bridge|Tidewatch Bridge|Chandler's Span
""".replace("\n", " ").split("|")
FERRIES = {
    "Blue Petrel Ferry": "Patient Dorothy",
    "Northern Mail Ferry": "Silver Tansy",
    "Cormorant Ferry": "Old Reliable",
    "Strait Ferry": "Brave Cornelia",
    "Evening Star Ferry": "Hesper",
    "Herring Line": "Salted Duchess",
    "Seven Bells Ferry": "Tintagon",
    "Pilot Line": "Merry Ottoline",
    "Gannet Ferry": "White Feather",
    "Sunrise Ferry": "Aurelian",
    "Cattle Ferry": "Gentle Giant",
    "Fogbank Line": "Steadfast Marigold",
    "Kingfisher Ferry": "Halcyon Rose",
    "Long Crossing": "Veyl Sovereign",
}
MUSEUMS = """
Museum of Knots|Museum of Lost Letters|Tin Soldier Museum|House of Maps|Museum of Tides|Umbrella
Museum|Museum of Small Boats|Bread Museum|Hall of Barometers|Museum of Unfinished Paintings|Button
Museum|Museum of Island Birds|Whalers' House|Museum of Keys|Old Mint Museum|Museum of Lamps
""".replace("\n", " ").split("|")
RIVERS = """
River Ossel|River Wenlow|River Crail|River Mirrin|River Dunnory|River Yskel|River Pellan|River
Harl|River Quenna|River Tolder|River Sarrow|River Glaven
""".replace("\n", " ").split("|")
SOURCES = """
Mirror Lake|the Weeping Cave|Shepherd's Bog|Lake Anwen|the Nine Springs|Hob Moor|Lake Torrel|the
Cold Basin|Raven Tarn|the Fern Gorge|Lake Issen|Priest's Well
""".replace("\n", " ").split("|")
FESTIVALS = {
    "Night of Kites": "March",
    "Herring Fair": "September",
    "Feast of Lanterns": "November",
    "Snow Regatta": "January",
    "Cherry Week": "May",
    "Drummers' Days": "July",
    "Festival of Stairs": "June",
    "Wool Parade": "April",
    "Honey Market": "August",
    "Tide Dances": "October",
    "Bell Contest": "December",
    "Raft Race": "July",
    "Puppet Days": "February",
    "Smoke Feast": "October",
}
# company: (product, founder)
COMPANIES = {
    "Ottery and Vane": ("ships' compasses", "Hedda Ottery"),
    "Corraway Glass": ("lamp glass", "Brice Corraway"),
    "Sundmere Ropeworks": ("mooring ropes", "Agnes Tolliver"),
    "Grellan Brewery": ("heather ale", "Rufus Grellan"),
    "Three Gulls Cannery": ("tinned sardines", "Oda Lamprecht"),
    "Marlowe Tiles": ("glazed roof tiles", "Sefton Marlowe"),
    "Veyl Telegraph": ("undersea cables", "Philippa Strand"),
    "Aldous Clockworks": ("tower clocks", "Aldous Penhaligan"),
    "Fennigar Mustard": ("mustard", "Beata Cullis"),
    "Ironside Boatyard": ("steel trawlers", "Magnus Ironside"),
    "Lark and Daughters": ("violins", "Celestine Lark"),
    "Umber Dyes": ("silk dyes", "Yorick Tamsin"),
    "Peatstone Distillery": ("pear brandy", "Gudrun Vale"),
    "Halyard Paper": ("banknote paper", "Ansel Whitlow"),
    "Skerry Salt": ("sea salt", "Petronel Skerry"),
    "Northlight Lenses": ("lighthouse lenses", "Emeric Dawes"),
}
NATURALISTS = "Willa Fairbourne|Osric Lund|Tamsel Greave|Ivo Kestering"
SPECIES = {
    "Veyl puffin": "seabird",
    "lantern newt": "amphibian",
    "grey moss hare": "hare",
    "ribbon eel of Quessa": "fish",
    "Velisk teal": "duck",
    "Oskary vole": "rodent",
    "saddled crab": "crustacean",
    "cliff marten": "marten",
    "amber slow-worm": "lizard",
    "bellbird of Ilmoor": "songbird",
    "marsh otter": "otter",
    "harlequin cod": "fish",
    "dwarf ibex of Hespary": "goat",
    "velvet bat": "bat",
}
LIGHTHOUSES = """
Gull Rock Light|Old Sentinel|Candlewick Light|Mad Martha Light|Pinscar Light|Breaker Point
Light|Twin Sisters Light|Far Skerry Light|Monk's Lamp|Harrier Head Light
""".replace("\n", " ").split("|")
SHE = """
Ilse Marrant|Nadra Pell|Maris Overgaard|Hedda Ottery|Agnes Tolliver|Oda Lamprecht|Philippa Strand|
Beata Cullis|Celestine Lark|Gudrun Vale|Petronel Skerry|Willa Fairbourne|Tamsel Greave
""".replace("\n", "").split("|")


@dataclass(frozen=True, slots=True)
class Subject:
    """What an article is about."""

    title: str
    kind: str
    facts: Mapping[str, Fact]


class _Numbers:
    """Numbers that differ from one another, so that each of an article's numbers says one thing."""

    def __init__(self, rng: random.Random):
        self._rng = rng
        self._load_teacher: set[int] = set()

    def __call__(self, low: int, high: int, step: int = 1) -> int:
        value = self._rng.randrange(low, high + 1, step)
        while value in self._load_teacher:
            value = self._rng.randrange(low, high + 1, step)
        self._load_teacher.add(value)
        return value


def subjects() -> list[Subject]:
    """Everything that has an article; the same list every time."""
    rng = random.Random(SEED)
    towns = [town for _, names in ISLANDS.values() for town in names.split()]
    built = [*_bridges(rng, towns), *_companies(rng, towns), *_species(rng)]
    return [
        *_islands_and_towns(rng),
        *built,
        *_people(rng, towns, built),
        *_ferries(rng),
        *_museums(rng, towns),
        *_rivers(rng),
        *_festivals(rng, towns),
        *_lighthouses(rng),
    ]


def _islands_and_towns(rng: random.Random) -> list[Subject]:
    known_for = rng.sample(KNOWN_FOR, len(KNOWN_FOR))
    listed = []
    for island, (peak, names) in ISLANDS.items():
        people = 0
        for town in names.split():
            n = _Numbers(rng)
            facts: dict[str, Fact] = {
                "island": island,
                "founded": n(912, 1748),
                "population": n(2100, 9400) if people else n(18000, 64000),
                "elevation_m": n(3, 340),
                "known_for": " ".join(known_for.pop().split()),
            }
            people += int(facts["population"])
            listed.append(Subject(town, "town", facts))
        n = _Numbers(rng)
        facts = {
            "capital": names.split()[0],
            "area_km2": n(310, 2900),
            "population": n(people + 4000, people + 30000),  # villages beside the towns
            "highest_point": peak,
            "height_m": n(420, 2350),
            "surveyed": n(1752, 1899),
        }
        listed.append(Subject(island, "island", facts))
    return listed


def _bridges(rng: random.Random, towns: list[str]) -> list[Subject]:
    listed = []
    architects = {name: rng.randrange(1730, 1890) for name in ARCHITECTS.split("|")}
    pairs = [(a, b) for a, b in pairwise(towns) if _island(a) == _island(b)]
    for title, (start, end) in zip(map(_plain, BRIDGES), rng.sample(pairs, 16), strict=True):
        n = _Numbers(rng)
        architect = rng.choice(sorted(architects))
        facts: dict[str, Fact] = {
            "from": start,
            "to": end,
            "architect": architect,
            "opened": n(architects[architect] + 30, architects[architect] + 58),
            "length_m": n(46, 1240),
            "spans": n(2, 31),
            "cost_marens": n(21000, 940000, 500),
        }
        listed.append(Subject(title, "bridge", facts))
    return listed


def _companies(rng: random.Random, towns: list[str]) -> list[Subject]:
    listed = []
    for title, (product, founder) in COMPANIES.items():
        n = _Numbers(rng)
        named = title.split()[0]
        facts: dict[str, Fact] = {
            "town": named if named in towns else rng.choice(towns),
            "founder": founder,
            "founded": n(1761, 1931),
            "employees": n(34, 1450),
            "product": product,
            "revenue_marens": n(210000, 9800000, 1000),
        }
        listed.append(Subject(title, "company", facts))
    return listed


def _species(rng: random.Random) -> list[Subject]:
    listed = []
    born = {name: rng.randrange(1770, 1880) for name in NATURALISTS.split("|")}
    for title, group in SPECIES.items():
        n = _Numbers(rng)
        island = next((name for name in ISLANDS if name in title), rng.choice(list(ISLANDS)))
        discoverer = rng.choice(sorted(born))
        length = n(9, 118)
        facts: dict[str, Fact] = {
            "island": island,
            "discoverer": discoverer,
            "discovered": n(born[discoverer] + 24, born[discoverer] + 56),
            "length_cm": length,
            "weight_g": n(length**2 // 2, length**2 * 2),
            "lifespan_years": n(2, 41),
            "group": group,
        }
        listed.append(Subject(title, "species", facts))
    return listed


def _people(rng: random.Random, towns: list[str], built: list[Subject]) -> list[Subject]:
    listed = []
    trades = {
        "bridge": ("architect", "opened", "bridge builder"),
        "company": ("founder", "founded", "merchant"),
        "species": ("discoverer", "discovered", "naturalist"),
    }
    works: dict[str, list[Subject]] = {}
    for work in built:
        works.setdefault(str(work.facts[trades[work.kind][0]]), []).append(work)
    for person, made in works.items():
        _, year, profession = trades[made[0].kind]
        years = [int(work.facts[year]) for work in made]
        n = _Numbers(rng)
        # of age at the first work, and alive at the last
        born = n(max(years) - 58, min(years) - 24)
        facts: dict[str, Fact] = {
            "birthplace": rng.choice(towns),
            "profession": profession,
            "born": born,
            "died": n(max(max(years) + 1, born + 59), born + 93),
            "known_for": made[0].title,
        }
        listed.append(Subject(person, "person", facts))
    return listed


def _ferries(rng: random.Random) -> list[Subject]:
    listed = []
    for title, vessel in FERRIES.items():
        n = _Numbers(rng)
        first, second = rng.sample(list(ISLANDS), 2)
        distance = n(7, 88)
        facts: dict[str, Fact] = {
            "from": rng.choice(ISLANDS[first][1].split()),
            "to": rng.choice(ISLANDS[second][1].split()),
            "distance_km": distance,
            "minutes": n(distance * 2 + 10, distance * 3 + 12),
            "fare_marens": n(3, 62),
            "sailings": n(2, 11),
            "vessel": vessel,
        }
        listed.append(Subject(title, "ferry", facts))
    return listed


def _museums(rng: random.Random, towns: list[str]) -> list[Subject]:
    listed = []
    for title, town in zip(map(_plain, MUSEUMS), rng.sample(towns, 16), strict=True):
        n = _Numbers(rng)
        facts: dict[str, Fact] = {
            "town": town,
            "opened": n(1803, 1978),
            "rooms": n(3, 42),
            "items": n(410, 26500),
            "visitors": n(2300, 148000, 100),
            "ticket_marens": n(2, 28),
        }
        listed.append(Subject(title, "museum", facts))
    return listed


def _rivers(rng: random.Random) -> list[Subject]:
    listed = []
    sources = [_plain(name) for name in SOURCES]
    for title, source in zip(map(_plain, RIVERS), sources, strict=True):
        n = _Numbers(rng)
        island = rng.choice(list(ISLANDS))
        facts: dict[str, Fact] = {
            "island": island,
            "source": source,
            "mouth": rng.choice(ISLANDS[island][1].split()),
            "length_km": n(12, 58),
            "bridges": n(2, 39),
        }
        listed.append(Subject(title, "river", facts))
    return listed


def _festivals(rng: random.Random, towns: list[str]) -> list[Subject]:
    listed = []
    for (title, month), town in zip(FESTIVALS.items(), rng.sample(towns, 14), strict=True):
        n = _Numbers(rng)
        facts: dict[str, Fact] = {
            "town": town,
            "month": month,
            "first_held": n(1487, 1961),
            "days": n(2, 12),
            "visitors": n(1900, 84000, 100),
        }
        listed.append(Subject(title, "festival", facts))
    return listed


def _lighthouses(rng: random.Random) -> list[Subject]:
    listed = []
    for title in map(_plain, LIGHTHOUSES):
        n = _Numbers(rng)
        island = rng.choice(list(ISLANDS))
        town = rng.choice(ISLANDS[island][1].split())
        if title.startswith("Pinscar"):
            island, town = "Dornay", "Pinscar"
        height = n(11, 64)
        facts: dict[str, Fact] = {
            "town": town,
            "island": island,
            "built": n(1741, 1926),
            "height_m": height,
            "steps": n(height * 4, height * 5),
            "range_km": n(14, 61),
        }
        listed.append(Subject(title, "lighthouse", facts))
    return listed


def _island(town: str) -> str:
    return next(name for name, (_, towns) in ISLANDS.items() if town in towns.split())


def _plain(name: str) -> str:
    return " ".join(name.split())
