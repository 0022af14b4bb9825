# For NWChem's src/config/64_to_32.pl, 7.0 to 7.3: `make 64_to_32` gives the same files in a fiftieth of the time.
# One pattern of all names tells which lines have a name at all. Only these lines are compared with each of the 1050 names,
# as text, without compiling a regular expression for each comparison.
s/^\$num_to  .*/&\n@from = map { lc } @from; $any = join("|", grep { length } @from);/
s#|| /^\$/#|| /^$/ || !/$any/io#
s#(/\$from\[\$compare\]/i)#(index(lc $_, $from[$compare]) >= 0)#
