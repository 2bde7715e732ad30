package images

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

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
	part, err := lately.part(data, job.source.Shared.Member)
	if err != nil {
		return nil, fmt.Errorf("read lockfile: %w", err)
	}
	if part == nil || part.Digest() != job.Lock {
		return nil, &cache.ChangedError{Path: name, Now: "its content is another"}
	}
	return part.Lockfile, nil
}

// lately is the repository's lockfile that was read last. All images of a run
// get parts of the same one, and parsing it is most of the work.
var lately parsedLock

// parsedLock is a lockfile with its content, which tells it from others.
type parsedLock struct {
	mu      sync.Mutex // guards content and lock, which knows nothing of goroutines
	content cache.Key
	lock    *workspace.RepositoryLock
}

// part cuts what a member gets of a lockfile, nil where it does not know of it.
func (p *parsedLock) part(data []byte, member string) (*workspace.LockPart, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if content := cache.Digest(data); p.lock == nil || content != p.content {
		lock, err := workspace.ReadRepositoryLock(data)
		if err != nil {
			return nil, err
		}
		p.content, p.lock = content, lock
	}
	return p.lock.Part(member), nil
}
