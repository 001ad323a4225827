"""What is asked, of whom, in which order, and the freeze that fixes it beforehand."""
