"""aiter, AMD's kernel library, as rungs use it. Built against its documented signatures; not run on AMD here."""
