"""TravelPlanner's records: tables as pandas writes them, what is bad in a record, files, hub and sample."""

from __future__ import annotations

import json
import runpy
import sys
import types
from pathlib import Path

import pytest

import llmzoo
from llmzoo.envs import sources
from llmzoo.envs.planning.travel import tables, travel_planner
from llmzoo.envs.planning.travel.tasks import Restaurant, Sight, Stay, Transport
from llmzoo.envs.sources import BadField
from llmzoo.errors import ConfigError, SkippedRecordsWarning

ROOT = Path(__file__).parents[3]

# in the forms of the set's own: with the numbers of the rows, or without them; a name with two spaces; names with
# digits first; a column that is wider than its name; a place that occurs twice
RESTAURANTS = (
    "                       Name  Average Cost                   Cuisines  Aggregate Rating    City\n"
    "39               The  Grill            72  Tea, French, Bakery, Cafe               4.9  Elmton\n"
    "251              7 Brothers            20                   American               0.0  Elmton\n"
    "2470  Uncle's: Bar; & Kebab            49                Bakery, BBQ               3.9  Elmton\n"
    "2861              The Grill            10                     Indian               3.2  Elmton"
)
ATTRACTIONS = (
    "           Name  Latitude  Longitude                  Address          Phone          Website   City\n"
    "  Museum | Shop 42.277324 -89.088142 737 N Main St, Elmton IL (815) 965-3433 http://x.example Elmton\n"
    "3rd Street Park 42.280499 -88.984640      2 Oak St, Elmton IL        Unknown          Unknown Elmton"
)
ACCOMMODATIONS = (
    "                   NAME  price       room type              house_rules  minimum nights  maximum occupancy  "
    "review rate number   city\n"
    "  20min To Times Square 1030.0 Entire home/apt               No smoking             2.0                  9  "
    "               2.0 Elmton\n"
    "Loft, river & park view   74.5    Private room No visitors & No smoking             1.0                  2  "
    "               4.0 Elmton\n"
    "              No price!    NaN     Shared room                      NaN             1.0                  2  "
    "               4.0 Elmton"
)
FLIGHTS = (
    "Flight Number  Price DepTime ArrTime  ActualElapsedTime FlightDate OriginCityName DestCityName  Distance\n"
    "     F3573659    474   15:40   17:04 2 hours 24 minutes 2022-03-16  St. Petersbay       Elmton    1049.0\n"
    "     F3573660    100   05:40   07:04 2 hours 24 minutes 2022-03-16  St. Petersbay       Elmton    1049.0"
)
REFERENCE = [
    ("Attractions in Elmton", ATTRACTIONS),
    ("Restaurants in Elmton", RESTAURANTS),
    ("Accommodations in Elmton", ACCOMMODATIONS),
    ("Flight from St. Petersbay to Elmton on 2022-03-16", FLIGHTS),
    ("Self-driving from St. Petersbay to Elmton", "No valid information."),
    (
        "Taxi from St. Petersbay to Elmton",
        "taxi, from St. Petersbay to Elmton, duration: 12 hours 18 mins, distance: 1,333 km, cost: 1333",
    ),
    (
        "Flight from Elmton to St. Petersbay on 2022-03-18",
        "There is no flight from Elmton to St. Petersbay on 2022-03-18.",
    ),
    (
        "Self-driving from Elmton to St. Petersbay",
        "self-driving, from Elmton to St. Petersbay, duration: 12 hours 3 mins, distance: 1,294 km, cost: 64",
    ),
    (
        "Taxi from Elmton to St. Petersbay",
        "taxi, from Elmton to St. Petersbay, no valid information.",
    ),
]


def entries(reference):
    return [{"Description": title, "Content": content} for title, content in reference]


RECORD = {
    "org": "St. Petersbay",
    "dest": "Elmton",
    "days": 3,
    "visiting_city_number": 1,
    "date": "['2022-03-16', '2022-03-17', '2022-03-18']",
    "people_number": 2,
    "local_constraint": "{'house rule': 'pets', 'cuisine': ['French', 'American'], 'room type': 'not shared room', "
    "'transportation': None}",
    "budget": 1700.0,
    "query": "Please plan a trip from St. Petersbay to Elmton.",
    "level": "hard",
    "reference_information": repr(entries(REFERENCE)),
    "annotated_plan": None,
}


def read(**changes):
    return travel_planner.task_from_record({**RECORD, **changes})


def with_content(title, content):
    changed = [(t, content if t == title else c) for t, c in REFERENCE]
    return {"reference_information": repr(entries(changed))}


def test_a_record():
    """The flight of the 16th leaves on day 1. Marks of the form of a plan are replaced in names."""
    task = read()
    assert (task.origin, task.region, task.cities) == ("St. Petersbay", "", ("Elmton",))
    assert (task.days, task.visits, task.people, task.budget) == (3, 1, 2, 1700)
    assert (task.rule, task.room, task.transport) == ("pets", "not shared room", "")
    assert task.cuisines == ("French", "American")
    assert task.transports == (
        Transport("flight", "St. Petersbay", "Elmton", 474, "F3573659", 1),
        Transport("flight", "St. Petersbay", "Elmton", 100, "F3573660", 1),
        Transport("taxi", "St. Petersbay", "Elmton", 1333),
        Transport("self-driving", "Elmton", "St. Petersbay", 64),
    )
    assert task.stays == (
        Stay("20min To Times Square", "Elmton", 1030, "entire home", ("smoking",), 2, 9),
        Stay(
            "Loft, river & park view", "Elmton", 75, "private room", ("smoking", "visitors"), 1, 2
        ),
    )
    assert task.restaurants == (
        Restaurant("The Grill", "Elmton", 72, ("Tea", "French", "Bakery", "Cafe")),
        Restaurant("7 Brothers", "Elmton", 20, ("American",)),
        Restaurant("Uncle's: Bar, & Kebab", "Elmton", 49, ("Bakery", "BBQ")),
    )
    assert task.sights == (Sight("Museum / Shop", "Elmton"), Sight("3rd Street Park", "Elmton"))


def test_lists_count_as_their_texts():
    given = {
        "reference_information": entries(REFERENCE),
        "date": ["2022-03-16", "2022-03-17", "2022-03-18"],
        "local_constraint": {"house rule": "pets", "cuisine": ["French", "American"]}
        | {"room type": "not shared room", "transportation": None},
    }
    assert read(**given) == read()


def test_a_region():
    task = read(dest="Illinois")
    assert task.region == "Illinois"


def test_a_table_of_one_row():
    columns = ("Name", "Cost")
    assert tables.parse_table("    Name  Cost\n7  7 Up    12", columns) == [
        {"Name": "7 Up", "Cost": "12"}
    ]
    assert tables.parse_table("     Name  Cost\n7 Up Bar    12", columns) == [
        {"Name": "7 Up Bar", "Cost": "12"}
    ]
    assert tables.parse_table("Name  Cost\n", columns) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": None}, "'budget' must be a number from 1 on, got 'None'"),
        ({"people_number": 0}, "'people_number' must be a number"),
        ({"days": True}, "'days' must be a number"),
        ({"days": 900}, "is 1 of 1 cities in 900 days"),
        ({"visiting_city_number": 2}, "is 2 of 1 cities in 3 days"),
        ({"org": None}, "'org' is missing"),
        ({"date": "soon"}, "'date' is not the text of a Python literal"),
        ({"date": "{}"}, "'date' must be a list"),
        ({"local_constraint": "[" * 5_000}, "'local_constraint' is not the text of a Python literal"),
        ({"local_constraint": "open('x')"}, "is not the text of a Python literal"),
        ({"local_constraint": "{'flight time': 'morning'}"}, "asks for 'flight time'"),
        ({"local_constraint": "{'house rule': 'noise'}"}, "has house rule 'noise', which is none of"),
        ({"local_constraint": "{'cuisine': 'French'}"}, "cuisine that is not a list"),
        ({"reference_information": "[1]"}, "must be a list of entries"),
        ({"reference_information": repr(entries([("Weather in Elmton", "rain")]))}, "is not understood: 'Weather"),
        ({"reference_information": "'" + "x" * 2_000_000 + "'"}, "is longer than 2,000,000"),
        (with_content("Restaurants in Elmton", "Name\nA"), "no column 'Average Cost'"),
        (with_content("Attractions in Elmton", ATTRACTIONS.replace("City", "Town")), "no column 'City'"),
        (with_content("Restaurants in Elmton", RESTAURANTS.replace("7 Bro", "77 Bro")), "not aligned"),
        (with_content("Attractions in Elmton", "rain"), "table 'Attractions in Elmton' that is not understood"),
        (with_content("Taxi from St. Petersbay to Elmton", "a taxi"), "without a cost"),
        (
            with_content("Flight from St. Petersbay to Elmton on 2022-03-16", FLIGHTS.replace("03-16", "04-16")),
            "a flight on '2022-04-16', not a day of the trip",
        ),
    ],
)  # fmt: skip
def test_bad_records(changes, message):
    with pytest.raises(BadField, match=message):
        read(**changes)


def lines(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_a_file(tmp_path):
    """The cheapest: the early flight and by car is a conflict, so that a taxi is left for the way there and there
    is none back. With a taxi back, 2 x 100 + 50, one night of two at the loft and 2 x (20 + 49 + 72) fit."""
    taxi = "taxi, from Elmton to St. Petersbay, duration: 2 mins, distance: 50 km, cost: 50"
    changes = with_content("Taxi from Elmton to St. Petersbay", taxi)
    path = lines(tmp_path / "t.jsonl", [{**RECORD, **changes}])
    env = llmzoo.make("travel_v0", source=path, split="all").unwrapped
    env.reset(options={"task": 0})
    assert "flight F3573660 on day 1 $100" in env.observe("booker_0")
    assert "Uncle's" not in env.observe("booker_0")
    while not env.terminations["booker_0"]:
        env.step(env.expert(env.agent_selection))
    assert env.success
    assert env.infos["booker_0"]["cost"] == 200 + 50 + 2 * 75 + 2 * (72 + 20 + 49)
    assert env.infos["booker_0"]["source"] == path


def test_a_record_without_a_plan_is_played(tmp_path):
    """There is no way back but by car, after a flight or taxi there: the experts write what they can."""
    path = lines(tmp_path / "t.jsonl", [RECORD])
    for form in ({}, {"num_agents": 1}, {"rounds": 0}):
        env = llmzoo.make("travel_v0", source=path, split="all", **form).unwrapped
        env.reset(options={"task": 0})
        while not env.terminations[env.possible_agents[0]]:
            env.step(env.expert(env.agent_selection))
        assert not env.success


def test_a_bad_record_is_named_or_skipped(tmp_path):
    path = lines(tmp_path / "t.jsonl", [RECORD, {**RECORD, "budget": "high"}])
    with pytest.raises(ConfigError, match=r"t\.jsonl:2: field 'budget'"):
        llmzoo.make("travel_v0", source=path, split="all")
    with pytest.warns(SkippedRecordsWarning, match="1 of 2 records were skipped"):
        env = llmzoo.make("travel_v0", source=path, split="all", on_bad_record="skip")
    assert env.unwrapped.tasks.count == 1


def test_the_hub_is_asked_for_the_rows_that_can_be_judged(monkeypatch):
    fake = types.ModuleType("datasets")
    fake.config = types.SimpleNamespace(HF_HUB_OFFLINE=True)
    fake.calls = []

    def load_dataset(*args):
        fake.calls.append(args)
        return {args[1]: [{**RECORD, "budget": 1700 + len(fake.calls)}]}

    fake.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setattr(sources, "_loaded", {})
    env = llmzoo.make("travel_v0", source="hub", split="all").unwrapped
    assert fake.calls == [("osunlp/TravelPlanner", "train"), ("osunlp/TravelPlanner", "validation")]
    assert (env.tasks.count, env.tasks.source) == (2, "hub")


def test_the_sample_is_what_its_script_writes():
    script = runpy.run_path(str(ROOT / "scripts" / "samples" / "travel_records.py"))
    assert travel_planner.PUBLIC_SET.sample_records() == script["records"](), (
        "run python scripts/samples/travel_records.py"
    )


def test_the_sample_is_solved_in_both_splits():
    days = []
    for split in ("train", "test"):
        env = llmzoo.make("travel_v0", source="sample", split=split).unwrapped
        for number in range(env.tasks.count):
            env.reset(options={"task": number})
            while not env.terminations["booker_0"]:
                env.step(env.expert(env.agent_selection))
            assert env.success
            days.append(env.infos["booker_0"]["days"])
    assert sorted(days) == [3] * 8 + [5] * 8 + [7] * 8
