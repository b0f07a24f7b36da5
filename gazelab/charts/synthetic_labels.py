"""An open supply of labels: everyday words and invented ones, with some that training never draws.

A word is held out by its own letters, so that the split is the same everywhere and needs no file:
one word in ten, everyday or invented.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from gazelab.charts.synthetic_words import COLOURS, label_words

Split = Literal["seen", "unseen"]

OPEN_THEMES = ("group", "item", "city", "team", "brand")
"""What open labels are said to be, in titles and questions; the labels themselves are any words."""

_EVERYDAY_TEXT = """
acid actor agent alarm album amber angle ankle apron arch arena armour arrow ash atlas attic autumn
badge bagel baker balcony ballet bamboo band banner barley barn basil basket beach beacon bean beard
bell belt bench berry bicycle biscuit blanket blender board boat bolt bone book border bottle boulder
bowl box bracelet bread brick bridge broom brush bucket budget buffet builder bulb butter button
cabbage cabin cable cactus cake camel camera camp canal candle canoe canvas canyon carbon cargo carpet
carrot castle cedar ceiling cellar cello cement cereal chain chair chalk channel chapel charcoal
cheese chess chicken chimney circle circus clay client cliff clinic clock cloth cloud clover coach
coal coast cobalt coconut coffee collar comet compass concert copper coral corn cottage cotton couch
council counter cradle crane crater crayon credit crew crown crystal culture cup curry curtain cushion
dairy dancer data dawn deck deer desert desk dessert diamond diary diesel dinner doctor dollar dolphin
domain donkey door dragon drama drawer dress driver drum duck dust
earth easel echo editor elbow elder elephant elm ember emerald engine envelope equity estate export
fabric factory falcon farmer fashion feather fence fern ferry fiddle field film finance finger fire
flag flame flour flower flute foam folder forest fork fossil fountain freight fridge frog frost fuel
funnel gadget galaxy gallery game garage garden garlic gas gate gear gem ginger giraffe glacier glass
globe glove gold goose gown grain granite grass gravel gravy guitar gym hall hammer hammock hand
harbour harp harvest hat hawk hazel health heart heater hedge helmet herb heron hill honey hood hook
hotel house housing hunter hydro ice income ink insect iron island ivory ivy jacket jade jar jeans
jelly jewel journal juice jungle jury kayak kettle key kidney kitchen kite knife knight koala label
labour lace ladder lagoon lake lamb lamp lantern laptop laser laundry lava leaf leather ledger legal
lens lentil letter lettuce lever library lily lime linen lizard lobster lock locker lotus lunch lung
machine magnet mail mansion maple marble market marsh mask mason meadow meal medal media melody
member mercury metal meteor milk mill miner mint mirror mobile monkey moon moose mosaic moss motor
mountain mouse movie museum mushroom music mustard nail napkin needle nest nickel noodle notebook
novel nurse nut nylon oak oasis oat ocean office oil olive onion opera orchard orchid organ osprey
otter oven owl oxygen oyster paddle paint palace palm panda panel paper parade park parrot parsley
pasta pastry path patio peanut pearl pebble pelican pencil penguin pepper petrol phone piano pickle
picnic pigeon pillow pilot pine pipe pizza planet plastic plate plaza plough pocket poem policy pond
pony poplar poppy postage potato pottery powder prairie print prism prison pudding pump pumpkin puppet
puzzle pyramid quartz quilt rabbit racket radar radio radish raft railway rain ranch raven razor
record reef rent resort ribbon rice rifle river road robin robot rocket roof rope rose ruby rug ruler
saddle safari sail salad salmon salt sand sandal satin sauce sauna scarf school science scooter screen
sculptor seal search seed service shadow shampoo shark sheep shelf shell shield ship shirt shoe shop
shovel shower shrimp sign silk silver singer skate sketch ski sky slate sled sleeve slipper smoke snack
snail snow soap soccer socks sofa soil solar soldier soup spade sparrow spice spider spinach sponge
spoon spring spruce squash stable stadium staff stamp star statue steam steel stone storm stove straw
stream street studio sugar suit summer sun surgery swan sweater swim syrup table tablet tailor tank
tape tart taxi tea teacher tent theatre thunder ticket tidal tile timber tin toast tobacco tomato tool
torch towel tower town toy tractor tram travel treaty tree trophy trout truck trumpet tulip tuna tunnel
turbine turkey turnip turtle tutor tyre umbrella unicorn uniform valley van vanilla vault velvet video
village vinegar violet violin vision visitor volcano voter wagon waiter wallet walnut walrus wardrobe
water wave wax weather web wedding whale wheat wheel whistle willow window wine winter wire wizard
wool worker writer yacht yard yarn yeast yoga yoghurt zebra zinc zipper zoo
"""
EVERYDAY = tuple(_EVERYDAY_TEXT.split())
"""Words of a trade, a kitchen, a street: what labels of real charts are made of."""

_ONSETS = "b bl br c ch cl cr d dr f fl fr g gl gr h j k kl l m n p ph pl pr qu r s sc sh sk sl sm sn sp st"
_ONSETS += " str sw t th tr tw v w wh x y z"
_VOWELS = "a e i o u a e i o u ai au ea ee ei ia ie io oa oi oo ou ue y"
_CODAS = "b ck d ft g k l ld ll lt m mp n nd ng nk nt p r rd rk rm rn rt s sh sk ss st t th v w x zz"
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
SHORTEST, LONGEST = 3, 10
SHARE_EVERYDAY, SHARE_INVENTED = 0.35, 0.45
"""Shares of everyday and of invented words; the rest are letters at random: no context helps to read them."""


def held_out(word: str) -> bool:
    """Tell whether training never draws a word (labels of the closed list are always drawn)."""
    word = word.lower()
    return zlib.crc32(word.encode()) % 10 == 0 and word not in label_words()


@lru_cache(maxsize=2)
def everyday(split: Split) -> tuple[str, ...]:
    """List the everyday words of a split, without those that questions are made of."""
    return tuple(word for word in EVERYDAY if _may_be_label(word) and held_out(word) == (split == "unseen"))


@lru_cache(maxsize=1)
def _reserved() -> frozenset[str]:
    from gazelab.charts.synthetic_questions import question_words

    return frozenset((*question_words(), *COLOURS))


def _may_be_label(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and word not in _reserved()


def invent(rng: np.random.Generator, longest: int = LONGEST) -> str:
    """Make up a word that can be pronounced, of up to `longest` letters."""
    onsets, vowels, codas = _ONSETS.split(), _VOWELS.split(), _CODAS.split()
    word = ""
    for _ in range(int(rng.integers(1, 4))):
        word += onsets[int(rng.integers(len(onsets)))] if word or rng.random() < 0.8 else ""
        word += vowels[int(rng.integers(len(vowels)))]
        word += codas[int(rng.integers(len(codas)))] if rng.random() < 0.5 else ""
    return word[:longest]


@dataclass(frozen=True)
class OpenLabels:
    """Draws labels of one split.

    Parameters
    ----------
    split
        "seen" for training; "unseen" for the words that training never draws.
    """

    split: Split = "seen"

    def draw(self, rng: np.random.Generator, n: int, room_px: float) -> list[str]:
        """Draw `n` different words, capitalised, none wider than `room_px` when drawn as a label."""
        from gazelab.charts.synthetic_draw import label_width_px

        words: dict[str, None] = {}
        while len(words) < n:
            word = self._word(rng).capitalize()
            if label_width_px(word) <= room_px:
                words[word] = None
        return list(words)

    def _word(self, rng: np.random.Generator) -> str:
        """Draw a word: first its sort, then one of this split, so that both splits have the same mixture."""
        sort = rng.random()
        if sort < SHARE_EVERYDAY:
            words = everyday(self.split)
            return words[int(rng.integers(len(words)))]
        while True:
            word = invent(rng) if sort < SHARE_EVERYDAY + SHARE_INVENTED else _letters(rng)
            if _may_be_label(word) and held_out(word) == (self.split == "unseen"):
                return word


def _letters(rng: np.random.Generator) -> str:
    length = int(rng.integers(SHORTEST, LONGEST))
    return "".join(ALPHABET[i] for i in rng.integers(0, len(ALPHABET), length))
