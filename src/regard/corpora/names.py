"""Names that stay what they are in the other language, real ones and made-up ones, with the titles that do not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from regard.corpora.tables import Value

_MEN = (
    "Adrien Alain Albert Alexandre Alphonse Amaury Ambroise Anatole André Anselme Antoine Armand Arnaud Arsène Arthur "
    "Augustin Aurélien Baptiste Barnabé Barthélemy Basile Bastien Benoît Bernard Bertrand Blaise Brice Cédric Célestin "
    "Charles-Henri Christophe Clément Corentin Cyprien Cyril Damien Denis Didier Edmond Édouard Éloi Émile Émilien "
    "Enguerrand Éric Erwan Étienne Eugène Évariste Fabien Fabrice Félicien Félix Firmin Florent Florian François "
    "Frédéric Gabriel Gaël Gaétan Gaspard Gaston Gauthier Geoffroy Georges Gérald Gérard Germain Ghislain Gilbert "
    "Gildas Gilles Grégoire Guillaume Gustave Hector Henri Hervé Hippolyte Honoré Hubert Hugo Ignace Isidore Jacques "
    "Jean-Baptiste Jean-Claude Jean-François Jean-Luc Jean-Marc Jean-Philippe Jérémie Jérôme Joachim Joël Josselin "
    "Jules Julien Kévin Kilian Léandre Léo Léon Léonard Léopold Loïc Louis Lucien Ludovic Maël Malo Marc-Antoine Marcel "
    "Marius Mathieu Mathis Maurice Maxence Maxime Mickaël Michel Nathan Nicolas Noé Norbert Octave Odilon Olivier "
    "Patrice Paul Philippe Pierre-Yves Quentin Raoul Raphaël Raymond Rémi René Rodolphe Romain Romaric Sébastien Serge "
    "Séverin Stanislas Stéphane Sylvain Tanguy Théo Théodore Théophile Thibault Thierry Thomas Timothée Tristan Ulysse "
    "Valentin Valère Victor Vivien Xavier Yann Yannick Yves Yvon Zacharie"
)
_WOMEN = (
    "Adélaïde Adèle Adeline Adrienne Agathe Agnès Albertine Alice Alix Amandine Ambre Amélie Anaïs Angèle Angélique Anne "
    "Anne-Marie Anne-Sophie Annick Anouk Apolline Ariane Armelle Astrid Athénaïs Aude Audrey Augustine Aurélie Aurore "
    "Axelle Béatrice Bénédicte Bérangère Bernadette Blandine Brigitte Camille Capucine Carine Caroline Cassandre "
    "Catherine Cécile Célestine Célia Céline Chantal Charlène Chloé Christelle Clarisse Claudine Clémence Clémentine "
    "Clotilde Colette Constance Coralie Corinne Daphné Delphine Dorothée Édith Églantine Éléonore Éliane Élise Éloïse "
    "Émeline Émilie Emma Emmanuelle Estelle Eugénie Eulalie Ève Évelyne Fabienne Faustine Félicité Flavie Florence "
    "Françoise Gabrielle Gaëlle Geneviève Georgette Géraldine Germaine Ghislaine Gisèle Gwenaëlle Hélène Henriette "
    "Héloïse Hermine Honorine Hortense Huguette Inès Irène Isabelle Jacqueline Jade Jeanne Joëlle Joséphine Josiane "
    "Juliette Justine Laëtitia Laure Léa Léonie Léontine Léopoldine Liliane Louise Lucette Lucie Lucienne Ludivine Lydie "
    "Madeleine Maëlle Maëlys Magali Manon Margaux Marguerite Marianne Marie-Claire Marie-Ève Marie-Hélène Marie-Laure "
    "Marielle Marion Marjolaine Marlène Marthe Martine Mathilde Mélanie Mireille Monique Morgane Muriel Mylène Nadège "
    "Nadine Nathalie Noémie Océane Odette Odile Olympe Ophélie Oriane Pauline Pénélope Perrine Philippine Raphaëlle "
    "Régine Renée Romane Rosalie Roseline Roxane Sabine Salomé Sandrine Ségolène Séraphine Séverine Sidonie Simone "
    "Solange Solène Stéphanie Suzanne Sylvie Thérèse Tiphaine Valentine Valérie Véronique Victoire Violette Virginie "
    "Viviane Yseult Yvette Yvonne Zélie Zoé"
)
_MEN_ABROAD = (
    "Abdoulaye Adam Ahmed Aidan Alastair Alejandro Ali Andreas Angus Arjun Arturo Barnaby Björn Bogdan Callum Carlos "
    "Clarence Connor Craig Cristóbal Dariusz Declan Diego Dimitri Duncan Dwayne Elijah Emeka Enrique Ernesto Ethan Ewan "
    "Fergus Finlay Franz Gareth Giovanni Giuseppe Graham Gunnar Günther Hamish Harry Hassan Heinrich Hiroshi Ibrahim "
    "Ifeanyi Ivan Jack Jakub Jamal James Javier Jeremiah Joaquín John José Jürgen Kareem Keith Kenji Khalid Kofi Kwame "
    "Lachlan Lars Leroy Liam Lloyd Lorenzo Luca Luigi Magnus Malik Mamadou Marek Mateo Mehmet Moussa Mustafa Niall Nigel "
    "Oleg Oliver Omar Otto Ousmane Owen Pablo Paolo Pavel Peter Piotr Raj Ramón Reginald Rhys Ricardo Rufus Rupert Ryan "
    "Salvatore Sanjay Satoshi Seamus Sergei Stavros Sven Takeshi Tariq Tobias Tom Trevor Tyrone Umberto Vikram Walter Wei "
    "William Wolfgang Xiaoming Youssef Yusuf Zoltán"
)
_WOMEN_ABROAD = (
    "Abigail Adaeze Agnieszka Aïcha Akiko Alejandra Amara Aminata Ana Anjali Anneliese Annika Beatriz Birgit Bridget "
    "Bronwyn Bryony Carmen Catalina Chiara Chiamaka Ciara Concepción Consuelo Deepika Deirdre Dolores Donatella Edna "
    "Eilidh Eleanor Elspeth Emily Esperanza Ewa Fatou Fatoumata Fiona Francesca Freya Gertrude Gillian Giulia Grace "
    "Greta Gwendolyn Hanna Harriet Heidi Hildegard Imogen Ingrid Isla Jane Kate Kateryna Katarzyna Khadija Kirsten Kumiko "
    "Lakshmi Leïla Lindiwe Lucía Ludmila Lupita Maeve Mariama Maribel Mary Mei Mercedes Meredith Michiko Molly Nadezhda "
    "Naomi Ngozi Niamh Nora Núria Oksana Olga Olivia Paloma Parvati Philippa Phoebe Priya Raquel Rebecca Rosalind Rosario "
    "Ruth Sakura Samira Saoirse Shanice Sheila Shreya Sigrid Siobhán Soledad Svetlana Tabitha Thandiwe Ursula Wangari "
    "Xiaoling Ximena Yasmin Yoko Yuki Zainab Zuzanna"
)
_SURNAMES = (
    "Abadie Allard Amiot Arnoux Aubert Aubry Auclair Bachelet Bailly Barbier Barthès Baudoin Beaulieu Bégin Bernier "
    "Berthelot Bertin Besson Bidault Billard Blanchard Boisvert Bonnefoy Bonnet Bouchard Boulanger Bourgeois Bouvier "
    "Brisset Bruneau Brunet Cadieux Caillaud Calvet Carlier Carpentier Castaing Chabert Chambon Chapelle Charbonneau "
    "Charrier Châtelain Chauvet Chauvin Chevalier Clavel Collet Cordier Cornec Coste Coudert Courtois Coutard Couturier "
    "Daoust Daviau Delacroix Delaunay Delcourt Delmas Deschamps Desjardins Desrosiers Dubois Dufour Duhamel Dumas Dumont "
    "Dupuis Duquesne Durand Durocher Duval Esnault Évrard Fabre Faure Favreau Ferrand Fleury Fontaine Forestier Fortier "
    "Fouché Fournier Gagnon Gaillard Galland Garnier Gaudin Gervais Gibert Gillet Girard Girardin Giraud Godard Gosselin "
    "Goulet Granger Gravel Grenier Grimaud Guérin Guichard Guignard Guilbert Guillot Guyot Hébert Huet Jacquet Jaubert "
    "Joly Jolivet Joubert Jourdan Labbé Labrousse Lachance Lacombe Lacroix Lafitte Lagarde Lambert Lamoureux Landry "
    "Langlois Lapointe Larivière Laroche Lassalle Laurent Lavigne Leblanc Leclerc Lecomte Ledoux Lefaucheux Lefort "
    "Lefranc Legendre Legrand Lemaire Lemoine Lenoir Lépine Leroux Lesage Letellier Levasseur Lévêque Loiseau Maillard "
    "Mallet Marchal Maréchal Marty Masson Mauriac Ménard Mercier Meunier Michaud Millet Monnier Montagne Moreau Moulin "
    "Navarre Ouellet Pagès Paquette Paradis Parmentier Pelletier Péron Perrault Perrier Picard Pichon Pineau Poirier "
    "Pommier Poulain Prévost Prigent Quéméneur Quesnel Raynaud Régnier Renaud Ribot Rivière Robichaud Rocher Rolland "
    "Rossignol Rousseau Roussel Rouvière Royer Sabatier Salaün Savary Séguin Serrault Sicard Simonet Tardieu Tessier "
    "Texier Thévenet Tissot Toussaint Tremblay Vaillant Valette Vasseur Verdier Vidal Vigneron Villeneuve Voisin "
    "Abernathy Achebe Adeyemi Ahmadi Albrecht Andersson Baker Banerjee Bauer Becker Benedetti Bergström Blackwood "
    "Boateng Brown Campbell Carter Castillo Chandra Chatterjee Clarke Cohen Coleman Cooper Crawford Dąbrowski Davies Diallo "
    "Díaz Dvořák Eriksson Esposito Evans Fernández Fischer Fitzgerald Fujimoto Gallagher Gonçalves González Greenwood "
    "Gupta Hamilton Hansen Harrison Hashimoto Hernández Hoffmann Horváth Hughes Ivanov Jackson Jankowski Jensen Johnson "
    "Kapoor Kiplagat Kobayashi Köhler Kovács Kowalski Larsen Lindqvist Lombardi López Martinelli Mendoza Miller Mitchell "
    "Mokoena Morrison Mukherjee Müller Murakami Murphy Nakamura Neumann Nguyen Nielsen Nkrumah Novak Núñez Okafor "
    "Okonkwo Osei Öztürk Papadopoulos Parker Patel Pereira Petrov Pham Popescu Quigley Ramírez Reynolds Ricci Robertson "
    "Rodríguez Rossi Sánchez Schäfer Schneider Schröder Silva Sinclair Singh Smith Sokolov Stewart Suzuki Svensson "
    "Takahashi Tanaka Taylor Thompson Thornton Traoré Turner Vargas Wanjiru Watanabe Whitfield Wilson Winterbottom Wójcik "
    "Wong Wright Yamamoto Yılmaz Zhang Zimmermann"
)
_SURNAMES_OF_SEVERAL_PARTS = (
    "O'Neill,O'Connor,O'Brien,O'Sullivan,O'Malley,N'Diaye,N'Guessan,M'Barek,D'Angelo,d'Aubigné,McGregor,McCarthy,"
    "MacDonald,de La Tour,de Montferrand,de Beauvoir,du Bellay,du Plessis,des Rochers,Le Goff,Le Gall,Le Bihan,"
    "Le Corre,La Fontaine,Saint-Amand,Saint-Pierre,Roche-Dubois,Girard-Lavoie,Fournier-Duval,Smith-Jones,van den Berg,"
    "van Dijk,von Trapp,di Stefano,El Khoury,Ben Youssef,García Márquez,da Silva"
)
_TOWNS = (
    "Aix-en-Provence Albi Amiens Angers Angoulême Annecy Arras Auxerre Avignon Bayonne Beauvais Besançon Béziers Blois "
    "Bourges Brest Caen Cahors Calais Carcassonne Chambéry Chartres Châteauroux Clermont-Ferrand Colmar Dax Dieppe Dijon "
    "Épinal Évreux Fontainebleau Grenoble La_Rochelle Laval Lille Limoges Lorient Lyon Mâcon Metz Montauban Montélimar "
    "Montpellier Mulhouse Nancy Narbonne Nevers Nice Nîmes Niort Orléans Pau Périgueux Perpignan Poitiers Quimper Reims "
    "Rennes Roanne Rodez Rouen Saint-Brieuc Saint-Étienne Saint-Malo Saint-Nazaire Sarlat Saumur Sète Soissons Tarbes "
    "Toulon Tours Troyes Valence Vannes Verdun Versailles Vichy Birmingham Bristol Cardiff Liverpool Manchester Oxford "
    "Sheffield Southampton Denver Houston Seattle Toronto Vancouver Melbourne Sydney Nairobi Dakar Abidjan Osaka Kyoto "
    "Stuttgart Leipzig Bilbao Porto Zagreb Reykjavík"
)
_STREETS = (
    "rue Victor-Hugo,rue Pasteur,rue de la Paix,rue des Lilas,rue du Moulin,rue Saint-Jacques,rue Lafayette,rue Gambetta,"
    "rue de l'Église,rue Émile-Zola,avenue Foch,avenue Jean-Jaurès,avenue de la République,avenue Montaigne,"
    "boulevard Voltaire,boulevard Haussmann,boulevard de Strasbourg,place Bellecour,place de la Bastille,"
    "place Saint-Michel,Baker Street,Oxford Street,Park Avenue,Elm Street,Abbey Road"
)
_WORKS = (
    "Germinal,Madame Bovary,Le Petit Prince,Candide,Nana,Bel-Ami,Tartuffe,Cyrano de Bergerac,Hamlet,Macbeth,"
    "Othello,Emma,Jane Eyre,Dracula,Frankenstein,Bonjour Tristesse,Moby Dick,Robinson Crusoe,Rebecca,Lolita,Carrie,"
    "Le Grand Meaulnes,David Copperfield,Oliver Twist,Ivanhoe"
)
_BRANDS = (
    "Peugeot,Renault,Citroën,Toyota,Volkswagen,Ford,Fiat,Honda,Volvo,Škoda,Hyundai,Mazda,Porsche,Mercedes,Nissan,Kia,"
    "Suzuki,Opel,Tesla,Lamborghini"
)
_FIRMS = (
    "Carrefour,Monoprix,Leclerc,Ikea,Decathlon,Fnac,Darty,Zara,Nestlé,Michelin,Airbus,Siemens,Google,Nokia,Samsung,"
    "Danone,L'Oréal,Orange,Volkmann,Barclays,Lufthansa"
)
_OF_SILENT_H = {name for name in f"{_MEN} {_WOMEN}".split() if name.startswith("H")}
_WITH_ELISION = _OF_SILENT_H | {"Yves", "Yvon", "Yvette", "Yvonne", "Yseult"}
_VOWELS = "aâeéèêiîoôuœ"

_BEGINNINGS = (
    "Bal Bé Bor Bré Cal Can Cé Chau Cor Cré Dal Dé Dor Fal Fé Flo Gal Gau Gré Jal Jo Ker Lan Lé Lor Mal Mau Mé Mon Nar "
    "Né Or Pal Pé Plu Qué Ral Ré Ros Sa Sé Sor Tal Thé Tré Val Vé Vil Zé Ar Bran Dun Har Kel Lin Mor Nor Strat Whit"
)
_MIDDLES = "a be bri ca de di fa ga gui la le li lo ma mé ni pa po ra ri ro sa ta ti va vi zi gno"
_MEN_ENDINGS = (
    "bert dan dien doc gan las lin mar mien nard nel ric ril ron rien thur tien vald vin xis"
)
_WOMEN_ENDINGS = "belle cie dine lène lette lia line lise mée na nette nia rine rise sande thée tille via vine ya"
_SURNAME_ENDINGS = (
    "bault bert çon dais dier dot fèbre gnac gneau gnon goux lard leau let lier lois met nais nard neau nier rac rault "
    "ret rin rolles saint teau tel tier vais vert vois vrard by dale field ford ham ley man ney son stone ton well wick "
    "worth berg mann stein ski wicz ov enko ez ini elli escu oglu"
)
_NUM_MADE_UP = 300

# The title, after de and after à, and in English.
_TITLES = (
    ("monsieur", "de monsieur", "à monsieur", "Mr."),
    ("M.", "de M.", "à M.", "Mr."),
    ("madame", "de madame", "à madame", "Mrs."),
    ("Mme", "de Mme", "à Mme", "Mrs."),
    ("mademoiselle", "de mademoiselle", "à mademoiselle", "Miss"),
    ("le docteur", "du docteur", "au docteur", "Dr."),
    ("le professeur", "du professeur", "au professeur", "Professor"),
    ("le capitaine", "du capitaine", "au capitaine", "Captain"),
    ("l'inspecteur", "de l'inspecteur", "à l'inspecteur", "Inspector"),
    ("le juge", "du juge", "au juge", "Judge"),
)
_SPOKEN_TO = (
    ("monsieur", "Mr."),
    ("madame", "Mrs."),
    ("mademoiselle", "Miss"),
    ("docteur", "Dr."),
    ("professeur", "Professor"),
    ("capitaine", "Captain"),
)


def of(word: str) -> str:
    """
    >>> of("Alice"), of("Paul"), of("Hugo"), of("Harry")
    ("d'Alice", 'de Paul', "d'Hugo", 'de Harry')
    """
    elided = word[0].lower() in _VOWELS or word.split()[0] in _WITH_ELISION
    return f"d'{word}" if elided else f"de {word}"


def names() -> dict[str, list[Value]]:
    """What fills each slot of a name."""
    draw = random.Random(1)
    men = [*f"{_MEN} {_MEN_ABROAD}".split(), *_made_up(_MEN_ENDINGS, draw)]
    women = [*f"{_WOMEN} {_WOMEN_ABROAD}".split(), *_made_up(_WOMEN_ENDINGS, draw)]
    simple = [*_SURNAMES.split(), *_made_up(_SURNAME_ENDINGS, draw)]
    surnames = [*simple, *_SURNAMES_OF_SEVERAL_PARTS.split(",")]
    titled = [(draw.choice(_TITLES), surname) for surname in surnames]
    spoken_to = [(draw.choice(_SPOKEN_TO), surname) for surname in surnames]
    full = [f"{draw.choice([*men, *women])} {surname}" for surname in surnames]
    found = {
        "he": men,
        "she": women,
        "person": [*men, *women],
        "surname": surnames,
        "full name": full,
        "town": [each.replace("_", " ") for each in _TOWNS.split()],
        "street": _STREETS.split(","),
        "brand": _BRANDS.split(","),
        "firm": _FIRMS.split(","),
    }
    return {
        **{slot: [(each, each) for each in words] for slot, words in found.items()},
        **{
            f"of {slot}": [(of(each), f"{each}'s") for each in found[slot]]
            for slot in ("he", "she", "person")
        },
        **{
            f"about {slot}": [(of(each), each) for each in found[slot] if not each.startswith("d")]
            for slot in ("person", "surname", "full name", "town")
        },
        # Of others the plural is not an s alone, or not clear.
        "family": [
            (each, f"{each}s")
            for each in surnames
            if each[0].isupper() and not each.endswith(tuple("sxzhy"))
        ],
        "titled": [(f"{title[0]} {name}", f"{title[3]} {name}") for title, name in titled],
        "of titled": [(f"{title[1]} {name}", f"{title[3]} {name}'s") for title, name in titled],
        "to titled": [(f"{title[2]} {name}", f"{title[3]} {name}") for title, name in titled],
        "sir": [(f"{title[0]} {name}", f"{title[1]} {name}") for title, name in spoken_to],
        "work": [(f"« {each} »", f'"{each}"') for each in _WORKS.split(",")],
    }


def _made_up(endings: str, draw: random.Random) -> Iterator[str]:
    whole = itertools.product(_BEGINNINGS.split(), ["", *_MIDDLES.split()], endings.split())
    for parts in draw.sample(list(whole), _NUM_MADE_UP):
        yield "".join(parts)
