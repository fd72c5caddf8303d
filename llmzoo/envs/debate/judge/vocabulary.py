"""Word lists of the rule-based judge."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# words that hold an English sentence together whatever it speaks of
FUNCTION = _set(
    """
    a an the this that these those each every either neither both all any some no none such
    another other others i me my mine we us our ours you your yours he him his she her hers it its
    they them their theirs who whom whose which what one ones someone anyone everyone nobody
    nothing something everything itself themselves ourselves of to in on at by for from with
    without within into onto over under above below between among through during before after
    since until against about around across along beyond behind beside near off out up down per as
    than like and or but nor so yet if unless because although though while whereas whether when
    where why how then there here is are was were be been being am do does did done doing has have
    had having can could will would shall should may might must not never only just even also too
    very more most less least much many few little still already again always often once ever
    rather quite almost however therefore thus hence instead moreover furthermore nevertheless
    indeed otherwise meanwhile finally perhaps cannot don't doesn't didn't isn't aren't wasn't
    weren't won't wouldn't can't couldn't shouldn't hasn't haven't hadn't it's that's there's
    we're they're let's same own who's i'm i've we've
    """
)
# words of every debate: they say nothing about its subject
OF_DEBATES = _set(
    """
    motion debate debates argue argues argued argument arguments side sides opponent opponents
    opposition judge point points claim claims claimed case brief briefs evidence reason reasons
    rebuttal reply answer speech speaker position support supports supported oppose opposes
    opposed favour favor against say says said saying tell tells told think believe show shows
    showed shown prove proves proof fact facts true false right wrong first second third finally
    conclusion percent per cent number figure figures example file vote votes agree disagree
    people make makes made go goes get gets good bad better worse thing things way ways want need
    needs know
    """
)
# words of every subject: they tell the case of no side
EVERYDAY = _set(
    """
    year years time times minute minutes hour hours month months day days week weeks second seconds
    today count counted counts number old new long longer short small large big great high low half
    hundred hundreds thousand thousands million millions single whole list call called calls stay
    stayed stays keep kept keeps found find turn turned turns follow followed follows describe
    described quoted interview become became end ended ends begin began put puts come comes came
    move moved leave leaves left last lasts return returned went ask asked asks look looked looks
    place places part parts take took taken give gave given gives use used uses back away even real
    really compare compared average record recorded report reported name named age second spend
    spent lose lost loses live lives lived happen happened start started close sum total
    """
)
_ENDINGS = "ations ation ings ing ments ment ness edly ed ers er ies es s ly e"
# taken off a word's end, the first that fits
ENDINGS = tuple(_ENDINGS.split())
_SPELLED = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
"""
_SPELLED_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {name: value for value, name in enumerate(_SPELLED.split())}
TENS = {name: 10 * value for value, name in enumerate(_SPELLED_TENS.split(), start=2)}
# after a spelled-out number: it claims to have been counted
COUNTED = _set("percent per of hundred thousand million billion")

# impossible orders of words
ARTICLES = _set("the a an")
NEVER_AFTER_ARTICLES = _set(
    """
    the a an of to in on at for from with and or but is are was were be has have had do does did
    could would should may not because although it they them we us he him i my our your their its
    this these those that which who whose if than there into onto
    """
)
LEADING = _set("of from into with by during among my our your their its")
NEVER_AFTER_LEADING = _set(
    """
    of with by during into and but is are was were has have had does did could would should may
    because although if than
    """
)
NEVER_LAST = _set(
    """
    the a an and or but my our your their because which whose than although while whereas unless
    every per into during as will would has we they he she very
    """
)
# a sentence that opens with one of them asks something
ASKING = _set("is are was were has does did can will would")
