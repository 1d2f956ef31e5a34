"""What the command line can do: one module a group of commands, each a thin layer over the library."""
