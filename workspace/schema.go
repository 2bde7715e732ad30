package workspace

import "toa.io/toa/document"

// Schemas are JSON Schemas of a context and of a manifest, for editors. They
// are made of the definitions that Load reads with, and say no more than it
// demands.
func Schemas() (context, manifest []byte) {
	return contextDescription().Encode(), manifestDescription().Encode()
}

func contextDescription() *document.Schema {
	r := newReader(ContextFile)
	schema := r.contextKeys(newContextFile(), &statements{reader: r}).Schema(contextRequired...)
	schema.Dialect, schema.Title = document.Dialect, ContextFile
	schema.Description = "A Toa workspace. Every key may be stated for an environment as key@environment."
	schema.Overlays()
	return schema
}

func manifestDescription() *document.Schema {
	r := newReader(ManifestFile)
	schema := r.manifestKeys(&Component{}, &statements{reader: r}).Schema()
	schema.Dialect, schema.Title = document.Dialect, ManifestFile
	schema.Description = "A component of a Toa workspace."
	return schema
}
