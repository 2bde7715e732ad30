// Package document reads YAML strictly: a file becomes a tree of values that
// know where they stand, and readers hand these values to whoever wants them,
// collecting everything that is wrong, each with its place, what was expected
// and how to mend it. The same definitions that read also describe themselves
// as JSON Schema.
//
// It knows nothing of workspaces. A file that was read without errors has no
// duplicate keys, no aliases, no control characters, and no keys but those that
// somebody wanted.
package document
