/** The passwords, or their stems, that people choose first: lower case, without accents. */
export const passwordWords = `
password passwort passwd passw pass passcode passphrase passkey pwd mypassword mypass thepassword newpassword oldpassword yourpassword
userpassword nopassword temppassword defaultpassword adminpassword rootpassword testpassword passwordpassword passpass changeme
changethis changenow change letmein letmeinnow letmepass openup opensesame sesame enter entry access accessdenied secret topsecret
mysecret supersecret verysecret secrets private hidden unlock locked login logon logmein signin signup welcome welcomeback hello
hellothere helloworld hi hey heythere goodbye bye test tester testing testtest testme testuser testpass demo demouser sample
example default temp temporary tmp trial guest guestguest visitor anonymous nobody somebody anybody everyone user username users
admin admins administrator administrateur administrador sysadmin superadmin superuser adminadmin root rootroot toor master
masterkey owner manager operator supervisor support service helpdesk office company business account accounts backup server
system database oracle mysql postgres postgresql postern redis mongo linux ubuntu debian windows microsoft apple macintosh
google facebook twitter instagram youtube amazon netflix yahoo hotmail gmail outlook skype whatsapp telegram linkedin myspace
paypal ebay spotify android iphone samsung nokia motorola xiaomi huawei sony playstation xbox nintendo internet network wireless
wifi router cisco modem computer laptop desktop keyboard monitor printer hacker hackme hacked security secure firewall
developer devel develop production staging deploy docker jenkins gitlab github kubernetes ansible vagrant tomcat apache
nginx weblogic jboss django laravel wordpress joomla drupal magento python java javascript typescript matrix trustno
iloveyou ilove iloveu iloveme iloveyousomuch loveyou loveme lovely love lover loverboy loves lovelove luv luvyou mylove
truelove firstlove imissyou kissme kisses sweet sweetie sweetheart sweety honey honeybun baby babygirl babyboy babe babydoll
darling dearest angel angels myangel princess prince queen king kings queenbee beautiful gorgeous handsome pretty cutie
cute sexy sexygirl hottie hotstuff bestfriend friends friend friendship forever foreveryoung family mother father mommy
daddy mama papa sister brother grandma grandpa children mybaby myfamily soulmate husband wife girlfriend boyfriend
sunshine sunflower sunny moonlight moon star stars starlight starwars startrek shooting rainbow butterfly flower flowers
rose roses lily daisy violet jasmine orchid tulip blossom cherry spring summer autumn winter fall season january february
march april may june july august september october november december monday tuesday wednesday thursday friday saturday
sunday weekend holiday holidays vacation christmas xmas easter halloween birthday newyear happynewyear today tomorrow
morning evening night midnight freedom liberty justice peace heaven hell paradise eternity destiny miracle blessed
blessing faith hope grace jesus jesuschrist christ god godisgood ilovegod lord savior allah bible church amen angelo
monkey monkeys dragon dragons tiger tigers lion lions bear bears panther wolf wolves fox eagle eagles falcon falcons hawk
hawks phoenix unicorn pegasus horse horses pony cowboy cowboys dog dogs doggy puppy cat cats kitty kitten kitkat mouse
mickey mickeymouse minnie donald goofy pluto bunny rabbit hamster turtle dolphin dolphins shark whale fish fishing frog
snake cobra viper python spider spiderman scorpion bee bumblebee bird penguin chicken turkey duck ducky pig piggy cow
elephant giraffe zebra gorilla panda koala buster tigger snoopy garfield scooby scoobydoo pooh winnie winniethepooh
batman superman superstar ironman wolverine hulk avengers captain captainamerica wonderwoman catwoman joker harley
harleydavidson pokemon pikachu charizard naruto sasuke goku vegeta dragonball onepiece sailormoon hellokitty mario luigi
zelda sonic minecraft fortnite roblox counterstrike warcraft starcraft diablo halo callofduty battlefield overwatch
leagueoflegends skyrim pacman tetris doom quake gandalf frodo bilbo legolas aragorn lordoftherings hobbit mordor
harrypotter hermione dumbledore hogwarts voldemort gryffindor slytherin luke skywalker anakin yoda vader darthvader
chewbacca hansolo jedi obiwan kenobi spock kirk enterprise voyager terminator predator alien rocky rambo gladiator
titanic avatar frozen elsa simba nemo shrek barbie cinderella tinkerbell peterpan casper godzilla kingkong simpsons
homer bart southpark cartman familyguy spongebob friendsforever metallica slipknot nirvana eminem beatles beyonce
rihanna madonna elvis shakira blink linkinpark greenday acdc ironmaiden queenie pinkfloyd ledzeppelin bobmarley tupac
football soccer baseball basketball volleyball hockey tennis golf golfer cricket rugby boxing wrestling karate running
swimming surfing skater skateboard snowboard cycling racing formula ferrari porsche mercedes mustang corvette camaro
chevy chevrolet ford toyota honda yamaha suzuki kawasaki ducati bmw audi volkswagen jaguar lamborghini bugatti tesla
nascar steelers patriots packers redskins raiders broncos giants lakers celtics bulls yankees redsox dodgers cubs
rangers arsenal chelsea liverpool everton manchester manutd manchesterunited tottenham barcelona realmadrid juventus
milan bayern dortmund schalke ajax benfica porto celtic boca riverplate flamengo america england scotland ireland
wales london paris berlin munich hamburg frankfurt cologne vienna zurich geneva madrid roma rome napoli venice lisbon
amsterdam brussels moscow russia poland warsaw prague budapest athens greece turkey istanbul egypt africa nigeria kenya
india mumbai delhi pakistan karachi china beijing shanghai hongkong japan tokyo korea seoul vietnam thailand bangkok
philippines manila indonesia jakarta malaysia singapore australia sydney melbourne canada toronto montreal vancouver
mexico brazil brasil argentina colombia peru chile florida california texas newyork newyorkcity chicago boston dallas
houston austin seattle denver detroit phoenix miami orlando atlanta lasvegas hollywood hawaii alaska georgia virginia
carolina dakota montana nevada arizona orange apple banana mango lemon melon watermelon strawberry blueberry raspberry
peach pear grape pineapple coconut cookie cookies chocolate candy sugar honeybee cupcake muffin brownie pancake pizza
burger cheese cheeseburger butter pepper ginger cinnamon vanilla peanut popcorn pasta spaghetti bacon coffee whiskey
vodka tequila guinness heineken budweiser corona pepsi cocacola sprite redbull gatorade starbucks mcdonalds red blue
green yellow purple pink black white silver gold golden brown grey gray diamond diamonds crystal ruby emerald sapphire
pearl amber platinum blackwhite redred bluesky blueberry greenday purplerain pinky blackcat blackjack whitehouse
money moneymoney cash dollar dollars rich richie million millionaire billionaire lucky lucky seven jackpot casino poker
winner champion champ victory success power powerful energy magic magical wizard witch demon devil satan evil angelina
ghost shadow shadows darkness dark night knight warrior soldier army navy marine marines airforce police sniper killer
hunter shooter gunner ninja samurai pirate pirates viking spartan legend hero heroes storm thunder lightning hurricane
tornado fire firefly flame ice icecream snow snowball snowman rain rainy water ocean river mountain forest desert island
beach surfer sailing sailor boat ship navyseal airplane pilot rocket space spaceship galaxy universe planet earth mars
jupiter saturn venus mercury apollo zeus athena hercules poseidon odin thor loki whatever whatsup whatthe nothing
something anything everything blahblah blah lol lmao omg wtf fuck fucku fuckme fuckyou fuckoff fucker motherfucker
shit bullshit asshole bitch bitches bastard damn crap dick pussy boobs booty sexsex sexy porn poop stupid idiot loser
dumbass dumb crazy psycho maniac monster freak geek nerd gangster gangsta thug playboy player pimp smoker marijuana
weed ganja cannabis stoner rasta reggae hiphop rock rocknroll rockstar rockon guitar drummer drums piano violin music
musica musiclover dance dancer dancing party partytime cheer cheerleader ballet singer actor movie movies camera
picture photo student teacher school college university highschool doctor nurse lawyer engineer fireman
abc abcd abcde abcdef abcdefg abcdefgh abcabc aabbcc xyz xyzzy qwe qwer qwert qwerty qwertyu qwertyui qwertyuiop
qwertz qwertzu qwertzui qwertzuiop azerty azertyuiop asd asdf asdfg asdfgh asdfghj asdfghjk asdfghjkl zxc zxcv zxcvb
zxcvbn zxcvbnm yxcvbnm qweasd qweasdzxc qazwsx qazwsxedc qazxsw wsxedc zaqwsx zaqxsw asdasd qweqwe zxczxc asdqwe
qwaszx qwerasdf asdfasdf qwerqwer asdfqwer dvorak aoeu aoeuidhtns poiuy poiuyt poiuytrewq lkjhgf lkjhgfdsa mnbvcxz
foobar foobarbaz foo bar baz barbaz lorem loremipsum ipsum xxx xxxx xxxxxx aaa aaaa aaaaaa correcthorsebatterystaple
1q2w3e 1q2w3e4r 1q2w3e4r5t 1qaz2wsx 1qaz2wsx3edc 1qazxsw2 zaq12wsx zaq1xsw2 q1w2e3 q1w2e3r4 q1w2e3r4t5 1a2b3c 1a2b3c4d
a1b2c3 a1b2c3d4 a1s2d3f4 123qwe 123qweasd 123qweasdzxc qwe123 abc123 123abc 12qwaszx 1234qwer qwer1234 asdf1234 zxcv1234
123456a 12345a 1234abcd abcd1234 pass1234 a123456 aa123456 aaa111 111aaa p455w0rd passw0rd 0000 1111 112233 11223344
121212 123123 123321 1234321 131313 101010 159753 159357 147258 147258369 258456 741852 741852963 789456 789456123 963852741 987654
654321 55555 666666 696969 777777 888888 999999 424242 420420 80085 8675309 31415926 314159265 271828 007007 00700 1007
geheim geheimnis kennwort losung losungswort meinpasswort einpasswort neuespasswort standard anfang willkommen hallo
hallohallo halloween hallowelt hallodu tschuess servus moin moinmoin gruezi schatz schatzi liebe liebling ichliebedich
mausi maus mausebaer hasi hase engel prinzessin sonne sonnenschein sommer winter herbst fruehling fruhling januar
februar maerz marz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag ostern
weihnachten geburtstag familie mutter vater mama bruder schwester oma opa freunde freundschaft fussball bundesliga
schalke04 werder borussia hertha stuttgart leipzig dresden hannover deutschland schweiz oesterreich osterreich bayern
schule lehrer schueler benutzer verwaltung firma buero arbeit rechner drucker internetz hund katze pferd pferde
schmetterling blume blumen rosen erdbeere schokolade kaffee bier wasser feuer himmel sterne mond freiheit frieden
glueck gluck hoffnung traum scheisse arschloch ficken fotze wichser muschi schwanz idiot lassmichrein
motdepasse monmotdepasse secret bonjour bonsoir salut coucou bienvenue bienvenu soleil lune etoile etoiles amour
monamour jetaime jetaimetrop cherie cheri chouchou doudou loulou bebe princesse prince reine papillon fleur rose
marseille lyon toulouse bordeaux nantes strasbourg lille monaco france paris parissg psg football ordinateur maison
famille maman papa frere soeur copain copine ami amis amitie vacances noel anniversaire printemps ete automne hiver
janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre lundi mardi mercredi jeudi vendredi
samedi dimanche chocolat fromage camembert cafe chat chien cheval lapin poisson tigre loup merde putain connard salope
encule liberte egalite fraternite utilisateur invite azert qsdf qsdfgh qsdfghjklm wxcvbn azeqsd azeqsdwxc
contrasena contrasenia micontrasena clave miclave clavesecreta secreto hola holahola holamundo bienvenido bienvenidos
adios amor miamor amorcito teamo teamomucho tequiero tequieromucho corazon micorazon carino bebe bonita hermosa
hermoso linda princesa principe reina rey angelito estrella estrellas sol luna cielo flores mariposa mariposas perro
gato caballo tigre lobo aguila delfin chocolate cafe familia mifamilia madre padre hermano hermana amigo amigos amiga
amistad amoreterno siempre porsiempre vida mivida felicidad feliz suerte libertad esperanza dios jesucristo diosesamor
virgen guadalupe futbol barca valencia sevilla betis atletico espana mexico argentina colombia peru venezuela chile
primavera verano otono invierno enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
diciembre lunes martes miercoles jueves viernes sabado domingo navidad cumpleanos usuario invitado mierda puta puto
cabron pendejo cono senha minhasenha segredo bemvindo benvenuto ciao ciaociao amoremio tiamo segreto calcio juve
wachtwoord welkom welkom01 geheim hoi haslo zaq wodka losen sommar hejsan salasana parola sifre parool heslo
`;

/** Given names that people use in passwords: lower case, without accents. */
export const givenNames = `
aaron abby abdul abdullah abigail adam adriana adrian agnes ahmed aidan aisha alan albert alberto alejandra alejandro alessandro alex
alexa alexander alexandra alexandre alexis alfred ali alice alicia alina allison alma alvaro alyssa amanda amelia amelie amina amir amy
ana anais anastasia anders andrea andreas andrei andres andrew andy angel angela angelica angelina angie anita anja anke ann anna anne
annette annie anthony antoine anton antonia antonio anya april ariana ariel arjun arthur ashley astrid audrey august aurelie austin ava
barbara barry beatrice beatriz becky ben benjamin benny bernard bernd bernie bertha beth bettina betty beverly bianca bill billy birgit
bjorn blake bob bobby boris brad bradley brandon brandy brenda brian brigitte britney brittany brooke bruce bruno bryan caitlin
caleb cameron camila camille candice carla carlos carlotta carmen carol carole carolina caroline carrie carsten casey cassandra
catherine cecile cecilia celia celine chad chandra chantal charlene charles charlie charlotte chelsea cheryl chloe chris christa
christian christiane christina christine christoph christophe christopher christy cindy claire clara clarissa claude claudia clement
cody colin connor conny corinna corinne courtney craig cristian cristina crystal curtis cynthia daisy dakota damian damien dan dana
daniel daniela daniele danielle danny darren dave david dawn deborah debbie denis denise dennis derek diana diane diego dieter dimitri
dirk dolores dominic dominik dominique donna dora doris dorothy doug douglas dustin dylan eddie edgar eduardo edward edwin eileen
elaine eleanor elena eli elias elijah elisa elisabeth elise eliza elizabeth ella ellen ellie eloise elsa emil emilia emilie emily emma
emmanuel enrico enrique eric erica erich erik erika erin ernest ernesto ernst erwin esteban esther ethan eugene eva evan evelyn fabian
fabien fabio fabrice fatima federico felicia felipe felix fernanda fernando fiona florence florian frances francesca francesco francis
francisco franck francois franz fred freddy frederic friedrich fritz gabriel gabriela gabriella gabrielle gary gavin gemma geoffrey
george georgia gerald gerard gerhard gina giovanni gisela giulia gloria gordon grace graham greg gregory greta guido guillaume gunther
gustavo hailey hanna hannah hannes hans harald harold harry hassan hector heidi heiko heinz helen helena helene helga helmut henri
henrik henry herbert herman hermann holger holly horst howard hubert hugo ian ibrahim ida ignacio igor ilse ines inga ingrid irene irina
iris irma isaac isabel isabella isabelle ivan ivana jack jackie jackson jacob jacqueline jacques jaime jake james jamie jan jana jane
janet janice janine jared jasmin jason javier jay jean jeanne jeff jeffrey jenna jennifer jenny jens jeremy jerome jerry jesse jessica
jessie jill jim jimmy joan joana joanna joaquin joe joel joerg johan johann johanna johannes john johnny jon jonas jonathan jordan jorge
jose josef joseph josephine josh joshua joyce juan juana juanita judith judy julia julian juliana julie julien juliette julius jurgen
justin justine kai karen karim karin karina karl karla kate katharina katherine kathleen kathrin kathy katie katja katrin kayla keith
kelly kelsey ken kenneth kenny kerry kerstin kevin khalid kim kimberly kirsten klaus kristen kristin kristina kurt kyle lara larissa
larry lars laura lauren laurence laurent laurie lea leah lena lennart leo leon leonard leonardo leonie leslie leticia liam lina linda
lindsay lindsey linus lisa liza lorena lorenzo lorraine louis louisa louise luca lucas lucia luciano lucie lucy ludwig luis luisa luise
lukas luke luna lydia madeleine madison magdalena maik malcolm manfred manuel manuela marc marcel marcela marcelo marco marcos marcus
margaret margarita maria mariam mariana marianne marie mariela marina mario marion marisol marissa marius mark marko markus marlene
marta martha martin martina marvin mary mateo mathias mathieu mathilde matt matteo matthew matthias matthieu maurice mauricio max
maxime maximilian maxwell maya megan mehdi mehmet melanie melissa mercedes mia michael michaela michel michele michelle miguel mike
mikhail mila milena miranda miriam mohamed mohammad mohammed moises molly monica monika monique morgan moritz muhammad mustafa nadia
nadine nancy naomi natalia natalie natasha nathalie nathan nathaniel neil nelson nicholas nick nico nicolas nicole nikita nikolai nils
nina noah noel noemi nora norbert norma norman oleg olga oliver olivia olivier omar oscar oskar otto owen pablo pamela paola pascal
pat patricia patrick patty paul paula paulina pauline paulo pavel pedro peggy peter petra philip philipp philippe pierre priya quentin
rachel rafael raghav rahul ralf ralph ramon ramona randy raphael raquel raul ravi raymond rebecca regina reiner renate rene ricardo
richard rick ricky rita robert roberta roberto robin rodrigo roger roland rolf roman ronald ronny rosa rosemary ross roxana roy ruben
rudolf russell ruth ryan sabine sabrina sally salvador sam samantha samir samuel sandra sandrine sandy santiago sara sarah sascha
saskia scott sean sebastian serena serge sergei sergio shane shannon sharon shawn sheila shelby shirley sidney silke silvia simon
simone sofia sonia sonja sophia sophie spencer stacey stan stanley stefan stefanie steffen stella stephan stephane stephanie stephen
steve steven stuart sue susan susana susanne susie suzanne svea sven svenja svetlana sylvia sylvie tamara tania tanja tanya tara tatiana
taylor ted teresa terry thea theo theodor theresa thierry thomas tiffany tim timothy tina tobias toby todd tom tomas tommy tony torsten
tracy travis trevor tristan tyler ulrich ulrike ursula ute uwe valentin valentina valeria valerie vanessa vera veronica veronika
victor victoria viktor vincent viola virginia vivian vladimir walter wanda wayne wendy werner wilhelm will william willy wolfgang
xavier yannick yasmin yolanda yves yvonne zachary zoe
`;
