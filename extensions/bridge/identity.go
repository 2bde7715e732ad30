package bridge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
)

// identity names a question by everything that can change its answer: the
// files of the package, what else is installed, the program and the request.
func identity(root string, q question) (string, error) {
	sum := sha256.New()
	field(sum, []byte("toa/bridge/v2"))
	field(sum, []byte(program))
	field(sum, []byte(q.Ask))
	field(sum, []byte(q.Key))
	request, err := json.Marshal(q.Request)
	if err != nil {
		return "", err
	}
	field(sum, request)
	for _, lock := range []string{"package-lock.json", "npm-shrinkwrap.json", "node_modules/.package-lock.json"} {
		content, _ := os.ReadFile(filepath.Join(root, lock)) // none is as good as an empty one
		field(sum, content)
	}
	if err := tree(sum, q.Directory); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// tree adds the files of a package, but for what is installed inside it.
func tree(sum hash.Hash, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path) //nolint:gosec // the package runs on this machine anyway
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		field(sum, []byte(filepath.ToSlash(name)))
		field(sum, content)
		return err
	})
}

// field writes the length first, so that where a field ends is part of the sum.
func field(sum hash.Hash, content []byte) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(content))))
	sum.Write(content)
}
