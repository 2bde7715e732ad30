package cache

// Kind says what a File is.
type Kind byte

// Kinds of files. There are no others: directories exist through their files.
const (
	Regular Kind = iota
	Symlink
)

// File is one entry of a Tree: what is hashed is what is copied.
type File struct {
	// Path is a slash path below the tree's directory.
	Path string
	Kind Kind
	// Exec is the owner's executable bit of a regular file.
	Exec bool
	// Size is in bytes; of a symlink, the length of its target.
	Size int64
	// Digest is BLAKE3-256 of the content of a regular file.
	Digest Key
	// Link is the target of a symlink, as it stands.
	Link string
	// Content is what a generated file holds. It is nil for files on disk.
	Content []byte
}

// Generated makes a regular file that is not on disk.
func Generated(path string, content []byte) File {
	return File{Path: path, Size: int64(len(content)), Digest: Digest(content), Content: content}
}
