"""Names, things and places of word problems."""

from __future__ import annotations

NAMES = (
    *("Ada", "Amir", "Aiko", "Anton", "Bela", "Bruno", "Carla", "Chidi", "Clara", "Dario"),
    *("Dilan", "Edda", "Elif", "Emil", "Farah", "Fiona", "Gita", "Goran", "Hanna", "Hugo"),
    *("Ines", "Ivan", "Jana", "Jonas", "Kaya", "Kofi", "Lena", "Luis", "Mara", "Milo"),
    *("Nadia", "Nils", "Olga", "Omar", "Paula", "Petra", "Quinn", "Rosa", "Ruben", "Sana"),
    *("Stefan", "Tara", "Timo", "Uma", "Viktor", "Wanda", "Yara", "Yusuf", "Zoe", "Zoltan"),
)
# plurals of things that can be counted, given away and packed
THINGS = (
    *("apples", "beads", "books", "buttons", "candles", "cards", "chestnuts", "coins", "cookies"),
    *("eggs", "envelopes", "figs", "jars", "lemons", "marbles", "muffins", "nails", "oranges"),
    *("pears", "pencils", "plums", "postcards", "ribbons", "rolls", "seeds", "shells", "stamps"),
    *("stickers", "stones", "tickets", "tiles", "tulips", "walnuts"),
)
BOXES = ("bags", "baskets", "boxes", "crates", "packets", "trays")
PEOPLE = ("a neighbour", "a cousin", "a friend", "a teacher", "an aunt", "a classmate")
COINS = ("euros", "dollars", "crowns", "francs", "pounds")
TRAVELLERS = ("A bus", "A train", "A car", "A lorry", "A taxi", "A tram", "A van")
MACHINES = (
    ("printer", "print a book"),
    ("pump", "empty a basin"),
    ("oven", "bake the rolls for a feast"),
    ("harvester", "clear a field"),
    ("loom", "weave a carpet"),
    ("painter", "paint a fence"),
)
