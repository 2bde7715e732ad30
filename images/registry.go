package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"
	"toa.io/toa/cache"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
)

// parallelUploads bounds the blobs of one image that are sent at once: more
// does not make registries faster.
const parallelUploads = 4

// Remote publishes images to registries. Make one for a run: what it learns of
// a registry it does not ask again.
type Remote struct {
	Client *Client
	// Blobs has the manifests of what was published before, if they were kept.
	Blobs *cache.Blobs
	// Losses are published again whatever the registry says; nil for none.
	Losses Losses

	known   ledger
	turn    turns[blobAt]
	opening turns[string] // of repositories
}

var (
	_ orchestrator.Registry = (*Remote)(nil)
	_ orchestrator.Preparer = (*Remote)(nil)
	_ orchestrator.Verifier = (*Remote)(nil)
)

// Traffic implements orchestrator.Registry: all that the client sent, the
// reading of base images too.
func (r *Remote) Traffic() orchestrator.Traffic {
	return orchestrator.Traffic{Requests: r.Client.Requests(), Bytes: r.Client.Bytes()}
}

// Has implements orchestrator.Registry. An image that the registry is known not
// to give all of is not there.
func (r *Remote) Has(ctx context.Context, ref orchestrator.Reference) (string, error) {
	repo, err := r.repository(ref)
	if err != nil {
		return "", err
	}
	digest, err := repo.digest(ctx, ref.Tag)
	if err == nil {
		ref.Digest = digest
		err = r.intact(ctx, repo, ref)
	}
	if errors.Is(err, cache.ErrNotFound) {
		digest = ""
	} else if err != nil {
		return "", fmt.Errorf("look up %s:%s: %w", ref.Repository, ref.Tag, err)
	}
	r.known.tag(tagAt{repo.String(), ref.Tag}, digest)
	return digest, err
}

func (r *Remote) repository(ref orchestrator.Reference) (*repository, error) {
	repo, err := r.Client.repository(ref.Repository)
	if err != nil {
		return nil, err
	}
	repo.pushes = true
	return repo, nil
}

// Publish implements orchestrator.Registry. The tag is looked up unless Has
// did so in this run.
func (r *Remote) Publish(ctx context.Context, step orchestrator.Step, artifact orchestrator.Artifact) (string, error) {
	image, ok := artifact.(*Image)
	if !ok {
		return "", fmt.Errorf("publish %s: %T is no image of this package", step.ID, artifact)
	}
	repo, err := r.repository(step.Reference)
	if err != nil {
		return "", err
	}
	at := tagAt{repo.String(), step.Reference.Tag}
	taken, asked := r.known.tagged(at)
	if !asked {
		if taken, err = r.Has(ctx, step.Reference); err != nil && !errors.Is(err, cache.ErrNotFound) {
			return "", err
		}
	}
	if taken != "" {
		return taken, nil
	}
	r.recall(repo, step.Previous)
	digest := image.Digest()
	if err := r.push(ctx, repo, image, step.Reference.Tag); err != nil {
		if digest, err = r.lost(ctx, repo, step.Reference, err); err != nil {
			return "", fmt.Errorf("publish %s:%s: %w", step.Reference.Repository, step.Reference.Tag, err)
		}
	}
	r.known.tag(at, digest)
	return digest, nil
}

// lost is for registries whose tags cannot be moved: somebody else, or an answer
// that did not reach us, may have set the tag since it was looked up. What it
// names is then kept, if all of it is there.
func (r *Remote) lost(ctx context.Context, repo *repository, ref orchestrator.Reference, refusal error) (string, error) {
	var answer *RegistryError
	if !errors.As(refusal, &answer) || answer.Status >= http.StatusInternalServerError || answer.Limited {
		return "", refusal
	}
	digest, err := repo.digest(ctx, ref.Tag)
	if err != nil {
		return "", refusal
	}
	ref.Digest = digest
	if r.whole(ctx, repo, ref) != nil {
		return "", refusal
	}
	return digest, nil
}

// push sends blobs, then manifests, the tag last.
func (r *Remote) push(ctx context.Context, repo *repository, image *Image, tag string) error {
	for i := range image.children {
		one := &image.children[i]
		if err := r.blobs(ctx, repo, one.contents()); err != nil {
			return err
		}
		target := tag
		if image.isIndex() {
			target = one.Digest.String()
		}
		if err := r.put(ctx, repo, one, target); err != nil {
			return err
		}
	}
	if image.isIndex() {
		return r.store(ctx, repo, image.top, tag)
	}
	return nil
}

func (r *Remote) store(ctx context.Context, repo *repository, doc document, target string) error {
	if err := repo.put(ctx, doc, target); err != nil {
		return err
	}
	r.mended(repo, doc.Digest)
	return nil
}

// put sends a manifest. Where the registry says that it is incomplete, what we
// took for granted was wrong: each blob is asked for, once.
func (r *Remote) put(ctx context.Context, repo *repository, one *child, target string) error {
	err := r.store(ctx, repo, one.document, target)
	var answer *RegistryError
	if !errors.As(err, &answer) || answer.Status != http.StatusBadRequest && answer.Status != http.StatusNotFound {
		return err
	}
	r.known.forget(repo, one.contents())
	if err := r.each(ctx, one.contents(), func(ctx context.Context, c content) error {
		return r.ensure(ctx, repo, c, true)
	}); err != nil {
		return err
	}
	return r.store(ctx, repo, one.document, target)
}

func (r *Remote) blobs(ctx context.Context, repo *repository, all []content) error {
	return r.each(ctx, all, func(ctx context.Context, c content) error {
		_, foreign := c.origin.(library)
		return r.ensure(ctx, repo, c, foreign)
	})
}

func (r *Remote) each(ctx context.Context, all []content, do func(context.Context, content) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelUploads)
	for _, c := range all {
		if !c.MediaType.IsDistributable() {
			continue // the registry is not meant to hold it
		}
		group.Go(func() error { return do(ctx, c) })
	}
	return group.Wait()
}

// ensure makes the repository hold a blob with as few requests as can be. Ask
// says that the registry may well have it already.
func (r *Remote) ensure(ctx context.Context, repo *repository, c content, ask bool) error {
	at := blobAt{repo.String(), c.Digest}
	release, err := r.turn.take(ctx, at)
	if err != nil {
		return err
	}
	defer release()
	if !r.isLost(repo, c.Digest) && (r.known.holds(at) || r.isHome(repo, c)) {
		return nil
	}
	if err := failpoint.At(failpoint.BlobUpload); err != nil {
		return err
	}
	there, err := r.there(ctx, repo, c, ask)
	if err == nil && !there {
		err = repo.upload(ctx, c, r.known.session(repo))
	}
	if err == nil {
		err = failpoint.At(failpoint.BlobUploaded)
	}
	if err != nil {
		return err
	}
	if err := r.replaced(ctx, repo, c); err != nil {
		return err
	}
	r.known.hold(repo, c.Digest)
	return nil
}

// there tells whether the repository has a blob: from another one now, or of old.
func (r *Remote) there(ctx context.Context, repo *repository, c content, ask bool) (bool, error) {
	if r.isLost(repo, c.Digest) {
		return false, nil
	}
	done, err := r.mount(ctx, repo, c)
	if err == nil && !done && ask {
		done, err = repo.holds(ctx, c.Digest)
	}
	return done, err
}

// isHome tells whether the blob is in this repository because its image is,
// unless the registry has said since that something is missing.
func (r *Remote) isHome(repo *repository, c content) bool {
	home, ok := c.origin.(*repository)
	return ok && home.String() == repo.String() && !r.known.doubted(repo)
}

// mount tries the repositories of the same registry that have the blob.
func (r *Remote) mount(ctx context.Context, repo *repository, c content) (bool, error) {
	from := r.known.holder(repo, c.Digest)
	if home, ok := c.origin.(*repository); ok && from == "" && home.registry == repo.registry && home.String() != repo.String() {
		from = home.name.RepositoryStr()
	}
	if from == "" || r.known.refuses(repo, from) {
		return false, nil
	}
	done, err := repo.mount(ctx, c, from)
	if err == nil && !done {
		r.known.refuse(repo, from)
	}
	return done, err
}

// recall takes for granted that the repository still holds the blobs of what
// was published there before.
func (r *Remote) recall(repo *repository, previous string) {
	if previous == "" || r.known.doubted(repo) {
		return
	}
	all, _ := blobsOf(r.Blobs, previous, 2)
	for _, blob := range all {
		r.known.assume(repo, blob.Digest)
	}
}

// blobsOf lists the blobs of a manifest, or of an index of them, as far as the
// cache has it, and tells whether it has all of it.
func blobsOf(blobs *cache.Blobs, digest string, depth int) (all []v1.Descriptor, whole bool) {
	raw, err := blobs.Bytes(digest)
	if err != nil || depth == 0 {
		return nil, false
	}
	found, err := parseManifest(raw)
	if err != nil {
		return nil, false
	}
	all, whole = found.blobs(), true
	for _, one := range found.Manifests {
		of, known := blobsOf(blobs, one.Digest.String(), depth-1)
		all, whole = append(all, of...), whole && known
	}
	return all, whole
}
