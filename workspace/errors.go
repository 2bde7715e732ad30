package workspace

import "toa.io/toa/document"

// What is wrong with a workspace is wrong with its documents.
type (
	// Error is one mistake in a file.
	Error = document.Error
	// Errors are all mistakes of a workspace, by file and line.
	Errors = document.Errors
	// Position is a place in a file.
	Position = document.Position
	// Notice is something that a person should know.
	Notice = document.Notice
)
