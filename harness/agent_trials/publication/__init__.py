"""What leaves the operator's hands: bundle, verifier, signed heads, the scan for secrets."""
