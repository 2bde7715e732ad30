package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"toa.io/toa/cache"
	"toa.io/toa/workspace"
)

// repository is the directory of the lockfile that several packages share, or "".
func (job *install) repository() string {
	if job.source.Shared == nil {
		return ""
	}
	return filepath.Dir(job.source.Shared.Path)
}

// share takes what the component gets of its repository's lockfile. The caller
// closes the repository's directory.
func (job *install) share() (*os.Root, error) {
	dir, name := filepath.Split(job.source.Shared.Path)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	data, err := readFile(root, name)
	if err == nil {
		job.files[job.LockName], err = job.part(name, data)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// part is what the component gets of a lockfile: it has to be what was hashed.
func (job *install) part(name string, data []byte) ([]byte, error) {
	lock, err := workspace.ReadRepositoryLock(data)
	if err != nil {
		return nil, fmt.Errorf("read lockfile: %w", err)
	}
	part := lock.Part(job.source.Shared.Member)
	if part == nil || part.Digest() != job.Lock {
		return nil, &cache.ChangedError{Path: name, Now: "its content is another"}
	}
	return part.Lockfile, nil
}
