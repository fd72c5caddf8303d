"""Lists of English words that :mod:`llmzoo.envs.writing.words` reads."""

from __future__ import annotations

STOP = """
    a an the this that these those my your his her its our their mine yours hers ours theirs
    i you he she it we they me him us them myself yourself himself herself itself ourselves
    themselves one ones someone something anyone anything everyone everything nobody nothing who
    whom whose which what whatever where when why how
    am is are was were be been being have has had having do does did doing done can could will
    would shall should may might must ought cannot
    and or but nor so yet if then else because since while although though unless until whether
    as than of at by for with about against between among into through during before after above
    below to from up down in out on off over under again further once here there within without
    toward towards upon onto per via despite
    all any both each few more most much many other another some such no not only own same too very
    just now also ever never always still even rather quite almost already however therefore thus
    hence instead yes
    t s m d ll re ve don doesn didn isn aren wasn weren won wouldn shouldn couldn hasn haven hadn
    """

# frequent in any text that people write, so that they say little of this one
LIGHT = """
    able add ago allow anyway ask away bad begin best better big bit bring call care case change
    come day decide different end enough exactly explain fact far feel find first full general get
    give go good great happen hard help high hope idea important include involve keep kind know
    large last late lead least leave less let like little live long look lot make matter maybe mean
    mention moment month move need new next nice note now number obviously old part people perhaps
    person place plan point possible post probably problem put question real really reason recent
    remain right run say second see seem set several share show side simple single situation small
    soon start stay stop story suggest sure take talk tell thing think third time today together
    tomorrow tonight try turn back home early especially everybody somebody become suddenly nearly
    possibly altogether example instance result addition whenever later meanwhile finally
    eventually afterwards including particular particularly moreover furthermore nevertheless
    nonetheless none plus admittedly indeed actually going simply clearly merely roughly exist
    anybody every past age aged otherwise line round receive request understand use usual various want way week well whole wonder word work
    worry wrong year yesterday yet bunch stuff guy
    author poster writer narrator describe report state summary summarize summarise text advice
    answer discuss consider realize realise
    """

# the general language of papers, beside the former
ACADEMIC = """
    paper study studies work approach method technique result research researcher propose present
    introduce show demonstrate investigate examine explore evaluate analyze analyse analysis
    experiment evidence problem challenge task question issue literature prior previous existing
    current recent state standard common conventional traditional widely typical novel new simple
    general practical theoretical empirical effective efficient accurate robust significant
    substantial considerable improve improvement performance achieve obtain provide offer enable
    require suggest indicate reveal find finding observe contribution implication application
    field area domain system process aim goal purpose address tackle solve solution overcome
    limit limitation gap remain understand understanding knowledge insight future potential
    promising increase decrease reduce reduction depend rely assume assumption motivate motivation
    background introduction abstract section framework develop development design data set compare
    comparison difference similar relate relationship role effect factor condition level value range
    measure estimate outcome benefit cost advantage drawback practice practitioner attention
    together hence therefore moreover furthermore consequently overall finally contrast addition
    particular instance example despite across whether interest broad wide long standing
    """

# the furniture of stories, beside the first: bodies, rooms, hours, moves
FICTION = """
    mr mrs miss ms dr sir man woman boy girl lady child mother father brother sister daughter son cousin
    hand finger arm leg foot head face eye ear hair mouth lip shoulder neck knee back voice breath
    door window room floor wall corner table chair bed roof street road stairs step house home glass
    paper book letter card box bag coat hat shoe cup lamp key bell clock water tea coffee
    morning evening night noon dawn minute hour day week winter summer spring autumn
    monday tuesday wednesday thursday friday saturday sunday
    sun moon rain snow wind air sky light dark cold warm wet dry
    red blue green white black grey yellow brown half row top side front
    stand sit lie walk run step climb rise fall hold lift pull push throw drop open close shut
    watch hear listen smile laugh cry nod whisper shout breathe sleep wake wait count read write
    play eat drink carry pick reach touch hang tie turn cross follow rest along behind beside beneath
    underneath across quiet silence slow slowly straight empty young alone name answer
    """

# a base and its irregular forms
IRREGULAR = """
    be is are was were been am; become became; begin began begun; break broke broken; bring brought;
    build built; burn burnt; buy bought; catch caught; choose chose chosen choice; come came; cost costs;
    cut cutting; deal dealt; die dying died death dead; draw drew drawn; drink drank drunk; drive drove driven;
    eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown flight;
    forget forgot forgotten; forgive forgave; freeze froze frozen; get got gotten; give gave given gift;
    go went gone; grow grew grown growth; hang hung; hear heard; hide hid hidden; hit hitting; hold held;
    hurt hurting; keep kept; know knew known knowledge; lead led; learn learnt; leave left; lend lent;
    let letting; lie lied lying; lose lost loss; make made; marry married marriage wedding; mean meant;
    meet met; pay paid; put putting; read reading; ride rode ridden; ring rang rung; rise rose risen;
    run ran; say said; see saw seen sight; seek sought; sell sold sale; send sent; set setting; shake shook;
    shoot shot; show showed shown; shut shutting; sing sang sung song; sink sank; sit sat; sleep slept;
    speak spoke spoken speech; spend spent; spread spreading; stand stood; steal stole stolen; stick stuck;
    strike struck; swear swore; swim swam swum; take took taken; teach taught; tear tore torn; tell told;
    think thought; throw threw thrown; wake woke woken; wear wore worn; win won; write wrote written;
    man men; woman women; child children; foot feet; tooth teeth; mouse mice; person people persons;
    wife wives; life lives; knife knives; shelf shelves; half halves; leaf leaves; thief thieves;
    analysis analyses; hypothesis hypotheses; phenomenon phenomena; index indices; matrix matrices;
    vertex vertices; criterion criteria; datum data; spectrum spectra; nucleus nuclei; bacterium bacteria;
    heavy heavier weigh weighs weighed weight; high height higher; long length lengthy; strong strength;
    wide width; deep depth; warm warmth; true truth; proud pride; hot heat; angry anger;
    succeed success successful succeeded; apologise apologize apology apologized apologised;
    argue argued arguing argument; move moved moving; invite invitation invited
    """

# words that stand for each other when people retell something
SAME = """
    mother mom mum mama mommy; father dad daddy; parent parents folks; grandmother grandma nana gran;
    grandfather grandpa granddad; child kid kids toddler; boy son; girl daughter; brother sibling;
    husband spouse hubby; boyfriend bf; girlfriend gf; partner couple; girl lady woman female gal;
    man male dude; boss manager supervisor; colleague coworker teammate; job employment career employer;
    company firm business; office workplace; fire layoff redundant; salary wage pay income paycheck;
    money cash funds savings; buy purchase; cost price expense expensive pricey; cheap affordable;
    rent lease; landlord landlady owner; tenant renter; apartment flat condo unit; house home;
    car vehicle automobile; bicycle bike cycle cycling; train railway; trip travel journey holiday vacation;
    dog puppy pup; cat kitten; vet veterinarian; pet animal; school college university campus; exam exams test final;
    study studying; teacher professor instructor tutor; student pupil; doctor physician gp; hospital clinic;
    ill sick sickness illness; medicine medication pill drug; therapy counselling counseling therapist counsellor counselor;
    depression depressed; anxious anxiety nervous worried scared afraid fear fearful terrified; angry mad furious annoyed upset;
    sad unhappy miserable; happy glad pleased joy; tired exhausted weary; love adore; hate dislike despise;
    argue quarrel row fight dispute; split breakup separate; phone mobile cellphone smartphone; message text email;
    picture photo photograph image; film movie; begin start commence; finish complete; fix repair mend;
    throw toss; talk speak chat conversation; answer reply respond response; big huge large enormous;
    little small tiny; fast quick rapid; slow slowly sluggish; begin start; quit resign leave; end finish;
    noise loud noisy sound; food meal dish; dinner supper; cook bake; sport exercise workout training; run jog;
    lose loss drop shed; weight pound pounds lbs; measure measurement; tip suggestion advice; guess suppose;
    rule law; police cop officer; steal theft thief; neighbour neighbor; favourite favorite; colour color;
    behaviour behavior; programme program; hesitant hesitation doubt unsure uncertain reluctant; bored boring dull;
    guilty guilt; sorry apologise; lie dishonest; trust reliable; secret hide; weird strange odd;
    increase raise rise grow; decrease reduce lower decline drop; use employ utilise utilize;
    error mistake inaccuracy; accuracy accurate precise precision; fast speed; method procedure; show demonstrate;
    estimate estimation; detect detection detector; simulate simulation; predict prediction forecast;
    classify classification classifier; optimise optimize optimization optimisation; model modelling modeling;
    fetch collect; near close nearby; garden yard; shop store; present gift; shout yell scream; choose pick select
    """

# each ending with the fewest letters that must be left of a word
ENDINGS = """
    ization 3 isation 3 ational 4 fulness 3 iveness 3 ation 4 ition 4 ment 4 ness 4 ship 4 less 3
    able 4 ible 4 ance 4 ence 4 ally 4 ful 3 ous 4 ive 4 ity 4 ion 4 ism 4 ist 4 ant 4 ent 4 ing 3
    ize 4 ise 4 ate 4 ly 3 al 4 ic 4 ed 3 er 4 or 4 en 4 est 4 y 3
    """
UNITS = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
    """
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
