"""The version of the package, which is also that of the program it runs."""

VERSION = "0.1.0"
