"""Value analysis of programs: intervals, propagated along all paths by abstract interpretation."""
