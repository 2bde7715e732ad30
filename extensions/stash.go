package extensions

// stash tells every component that uses it which Redis it is.
func stash(in Input) Declaration { return pointed(in, "stash") }
