package cache

import "time"

// Entry is what is known of a published image.
type Entry struct {
	// Digest is "sha256:…" of the manifest or index.
	Digest string
	// Platforms are those that were published.
	Platforms []string
	// VerifiedAt is when the registry last said that it holds the image.
	VerifiedAt time.Time
}
