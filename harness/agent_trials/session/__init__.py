"""What happens around the attempts of one pytest session: options, selection, run, display."""
