package images

import (
	"net/url"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

type (
	// blobAt is a blob in a repository ("host/path").
	blobAt struct {
		repository string
		digest     v1.Hash
	}
	// tagAt is a tag in a repository.
	tagAt struct{ repository, tag string }
	// blobOn is a blob anywhere on a registry.
	blobOn struct {
		registry string
		digest   v1.Hash
	}
	// route is from one repository to another.
	route struct{ to, from string }
)

// ledger is what a run knows of registries. Its zero value knows nothing.
type ledger struct {
	mu      sync.Mutex        // guards all
	tags    map[tagAt]string  // what the registry answered; empty for "not there"
	held    map[blobAt]bool   // seen there or sent there
	assumed map[blobAt]bool   // there because a manifest that was published names it
	holders map[blobOn]string // a repository that is sure to hold the blob
	deaf    map[route]bool    // mounting was refused
	doubts  map[string]bool   // repositories where an assumption was wrong
	ready   map[string]*ready // repositories that were asked whether they take uploads
}

// ready is a repository that takes uploads, or the reason why it does not.
type ready struct {
	session *url.URL // an upload that is open, until it is taken
	err     error
}

func (l *ledger) prepared(repo *repository, session *url.URL, err error) {
	put(l, &l.ready, repo.String(), &ready{session, err})
}

// readiness tells whether the repository was asked, and what was found.
func (l *ledger) readiness(repo *repository) (asked bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found, asked := l.ready[repo.String()]
	if !asked {
		return false, nil
	}
	return true, found.err
}

// session hands out the upload that is open in the repository, once.
func (l *ledger) session(repo *repository) *url.URL {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.ready[repo.String()]
	if found == nil {
		return nil
	}
	defer func() { found.session = nil }()
	return found.session
}

func (l *ledger) tag(at tagAt, digest string) { put(l, &l.tags, at, digest) }

// tagged is what the tag carried when it was asked for, and whether it was.
func (l *ledger) tagged(at tagAt) (digest string, asked bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	digest, asked = l.tags[at]
	return digest, asked
}

func (l *ledger) hold(repo *repository, digest v1.Hash) {
	put(l, &l.held, blobAt{repo.String(), digest}, true)
	put(l, &l.holders, blobOn{repo.registry.RegistryStr(), digest}, repo.name.RepositoryStr())
}

func (l *ledger) assume(repo *repository, digest v1.Hash) {
	put(l, &l.assumed, blobAt{repo.String(), digest}, true)
}

func (l *ledger) holds(at blobAt) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[at] || l.assumed[at]
}

// forget makes the blobs be asked for again, and nothing be assumed of the
// repository from now on.
func (l *ledger) forget(repo *repository, all []content) {
	put(l, &l.doubts, repo.String(), true)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range all {
		delete(l.held, blobAt{repo.String(), c.Digest})
		delete(l.assumed, blobAt{repo.String(), c.Digest})
		delete(l.holders, blobOn{repo.registry.RegistryStr(), c.Digest})
	}
}

func (l *ledger) doubted(repo *repository) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doubts[repo.String()]
}

// holder is the path of a repository on the same registry that has the blob,
// or empty.
func (l *ledger) holder(repo *repository, digest v1.Hash) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holders[blobOn{repo.registry.RegistryStr(), digest}]
}

func (l *ledger) refuse(repo *repository, from string) {
	put(l, &l.deaf, route{repo.String(), from}, true)
}

func (l *ledger) refuses(repo *repository, from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deaf[route{repo.String(), from}]
}

func put[K comparable, V any](l *ledger, m *map[K]V, key K, value V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
