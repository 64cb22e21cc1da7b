"""The task and the program generator of the language's own tests serve here too."""
