"""Published figures that results are held against, one ``*.tsv`` per source beside this file."""
