"""Arguments that several verbs take. A folder, since every file beside `main` is a verb."""
