package extensions

// silent is a package that needs nothing of a deployment: extensions.state and
// fetch, storages.null, bindings.loop and the bridges.
func silent(Input) Declaration { return Declaration{} }
