"""First names of people in France and in the English-speaking world, by which a surname after them is known.

None that is as often a place, a month or a word: no Paris, no Florence, no Will.
"""

from __future__ import annotations

FIRST_NAMES = frozenset(
    """
    Adam Adrian Adrien Agathe Agnès Alain Alan Albert Alex Alexander Alexandra Alexandre Alexis Alice Alison Alistair Amanda
    Amandine Amélie Amy Anaïs André Andrea Andrew Angela Anita Ann Anna Anne Annie Anouk Anthony Antoine Antonin Arnaud
    Arthur Audrey Aurélie Aurélien Baptiste Barbara Bastien Béatrice Beatrice Becky Ben Benjamin Benoît Bernard Bethany
    Betty Bob Bradley Brian Bridget Brigitte Bruno Callum Camille Carl Carole Caroline Caitlin Catherine Cathy Cécile Cédric
    Céline Chantal Charles Charlie Chloe Chloé Chris Christelle Christine Christophe Christopher Claire Clara Claude
    Claudine Clément Colette Colin Connor Corentin Corinne Craig Cynthia Cyril Damien Dan Daniel Danielle Dave David
    Deborah Declan Delphine Denis Dennis Derek Diana Diane Didier Dominique Donald Donna Dorothy Douglas Duncan Dylan Eddie
    Edgar Édouard Edward Éléonore Elena Eleanor Élise Elizabeth Élodie Eleonore Elliot Emily Emilie Émilie Emma Emmanuel
    Emmanuelle Enzo Éric Eric Erica Erwan Estelle Esther Ethan Étienne Eugène Eva Evan Évelyne Evelyn Fabien Fabrice
    Fanny Félix Fiona Florian François Françoise Fred Frédéric Frederick Gabriel Gabrielle Gaël Gaëlle Gareth Gary
    Geneviève Geoffrey George Georges Gérald Gérard Gilbert Gilles Gillian Giulia Gordon Graham Grégoire Gregory Greg Guillaume
    Gustave Guy Hannah Harold Harriet Harry Heather Helen Hélène Henri Henry Hervé Hugo Hugues Ian Imogen Inès Ingrid
    Irène Isabelle Isabella Ivan Jack Jacqueline Jacques James Jamie Jane Janet Jasper Jason Jean Jeanne Jeffrey Jennifer
    Jenny Jérémie Jeremy Jérôme Jerome Jessica Jim Joan Joanna Joe Joël Johanna John Johnny Jonathan Joseph Joséphine Joshua
    Joyce Judith Judy Jules Julia Julian Julie Julien Juliette Justin Justine Karen Karine Kate Katherine Kathleen Kathryn
    Katie Keith Kelly Ken Kenneth Kevin Kévin Kim Kimberly Kyle Laetitia Laura Laure Laurence Laurent Lauren Léa Leah
    Léo Léon Leon Leonard Leslie Lewis Liam Lilian Liliane Linda Lisa Lise Loïc Lola Louis Louise Luc Luca Lucas Lucie
    Lucien Lucille Lucy Ludovic Luke Lydia Lydie Lynn Madeleine Madison Maeve Maëlle Magali Manon Marc Marcel Margaret
    Margaux Maria Marianne Marie Marilyn Marine Marlène Marthe Martha Martin Martine Mary Mathieu Mathilde Mathis Matt
    Matthew Matthieu Maurice Maureen Max Maxime Megan Mehdi Mélanie Melanie Melissa Michael Mickaël Michel Michèle Michelle
    Mike Mireille Mohamed Molly Monica Monique Morgane Muriel Myriam Nadia Nadine Nancy Natalie Nathalie Nathan Neil Nicholas
    Nick Nicolas Nicole Nigel Nina Noah Noémie Nora Océane Odile Oliver Olivia Olivier Oscar Owen Pamela Pascal Patricia
    Patrick Paul Paula Pauline Peggy Peter Philip Philippe Phoebe Pierre Poppy Quentin Rachel Ralph Raphaël Raymond
    Rebecca Régine Rémi Rémy Renaud René Renée Richard Rick Robert Robin Rodney Roger Roland Romain Ronald Rosalie Rowan Roxane
    Roy Rupert Russell Ruth Ryan Sabine Sabrina Sally Salomé Sam Samantha Samira Samuel Sandra Sandrine Sara Sarah Scott
    Sean Sébastien Serge Séverine Sharon Sheila Shirley Simon Simone Solène Sophia Sophie Stacy Stanley Stéphane Stéphanie
    Stephanie Stephen Steve Steven Stuart Susan Suzanne Sylvain Sylvie Tanguy Tanya Ted Teresa Terry Tessa Théo Théodore
    Theresa Thérèse Thibault Thierry Thomas Tiffany Tim Timothy Tina Todd Tom Tony Tracy Tristan Valentin Valérie
    Vanessa Véronique Vincent Virginie Vivien Walter Wendy William Xavier Yann Yannick Yasmine Yves Yvette Yvonne Zachary
    Zoe Zoé
    """.split()
)
