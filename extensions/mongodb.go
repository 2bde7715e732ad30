package extensions

// mongodb tells every component where its entities are kept.
func mongodb(in Input) Declaration { return pointed(in, "mongodb") }
