package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"toa.io/toa/cache"
	"toa.io/toa/internal/failpoint"
	"toa.io/toa/orchestrator"
)

// Media types and the tag of an index that machines share.
const (
	sharedConfigType types.MediaType = "application/vnd.toa.index.config.v1+json"
	sharedShardType  types.MediaType = "application/vnd.toa.index.shard.v1+gzip"

	sharedName = "index" // of the repository below the workspace's
	sharedTag  = "v1"
)

// Two shards, so that reading takes three requests: one that stays as it is for
// long, and one of what has come since. When that has grown to a part of the
// first the two become one.
const (
	minCompact  = 256
	compactPart = 4
)

// Writing is tried so often, and stands when it is there after a while.
const (
	shareTries    = 5
	minSharePause = 200 * time.Millisecond
	maxSharePause = 3 * time.Second
)

// SharedIndex tells machines what others have published of a workspace: an
// artifact of immutable shards beside the images. It is as disposable as the
// index that it is read into, and worth as much: what a release depends on is
// asked of the registry's own digests.
//
// Registries cannot compare and swap. Who writes joins what stands with all that
// its own index knows, looks again after a while, and begins anew where somebody
// else has written in between without having seen it. A row that is lost all the
// same costs one request, after which it is written again.
type SharedIndex struct {
	Remote *Remote
	Index  *cache.Index
	// Base is where the workspace's repositories are: "host/path/shop".
	Base string
	// Pause is how long after writing to look whether it stands. Zero means as
	// long as others may take that have begun before: some times what we took.
	Pause time.Duration
}

// Read adds to the index what other machines have published. It takes at most
// three requests.
func (s *SharedIndex) Read(ctx context.Context) error {
	repo, err := s.Remote.Client.repository(s.repository())
	if err != nil {
		return err
	}
	standing, err := s.fetch(ctx, repo)
	if err == nil {
		err = s.Index.Merge(s.host(), s.prefix(), standing.rows(), time.Now())
	}
	if err != nil {
		return fmt.Errorf("read shared index %s: %w", s.repository(), err)
	}
	return nil
}

// Write tells other machines what the index knows and they do not.
func (s *SharedIndex) Write(ctx context.Context) error {
	err := s.write(ctx)
	var answer *RegistryError
	if errors.As(err, &answer) && answer.isRefusal() {
		err = fmt.Errorf("the account may only read it, which `cache.write: never` states: %w", answer)
	}
	if err != nil {
		return fmt.Errorf("write shared index %s: %w", s.repository(), err)
	}
	return nil
}

func (s *SharedIndex) write(ctx context.Context) error {
	repo, err := s.Remote.Client.repository(s.repository())
	if err != nil {
		return err
	}
	repo.pushes = true
	mine := s.Index.Rows(s.host(), s.prefix())
	for range shareTries {
		began := time.Now()
		standing, err := s.fetch(ctx, repo)
		if err != nil {
			return err
		}
		if len(cache.Without(mine, standing.rows())) == 0 {
			return nil
		}
		shards, err := standing.with(mine)
		if err != nil {
			return err
		}
		put, err := s.put(ctx, repo, shards)
		if err == nil {
			err = failpoint.At(failpoint.SharedStored)
		}
		if err != nil {
			return err
		}
		if err := s.wait(ctx, time.Since(began)); err != nil {
			return err
		}
		if stands, err := repo.digest(ctx, sharedTag); err != nil || stands == put {
			return err
		}
	}
	return errors.New("others write all the time")
}

func (s *SharedIndex) repository() string { return s.Base + "/" + sharedName }
func (s *SharedIndex) prefix() string     { return s.Base + "/" }
func (s *SharedIndex) host() string       { return orchestrator.RegistryHost(s.Base) }

// wait gives those time that have read what stood before.
func (s *SharedIndex) wait(ctx context.Context, took time.Duration) error {
	pause := cmp.Or(s.Pause, min(max(3*took, minSharePause), maxSharePause))
	return sleep(ctx, pause+rand.N(pause)/4) //nolint:gosec // no secret
}

// sharedShard is a shard as it is stored, and what it says.
type sharedShard struct {
	data []byte
	rows []cache.Row
}

// sharedShards are the shards of an index, the one that stays first.
type sharedShards []sharedShard

func (all sharedShards) rows() []cache.Row {
	var sets [][]cache.Row
	for _, one := range all {
		sets = append(sets, one.rows)
	}
	return cache.Union(sets...)
}

// with are the shards to be stored so that mine are among them.
func (all sharedShards) with(mine []cache.Row) ([][]byte, error) {
	whole := cache.Union(all.rows(), mine)
	if len(all) > 0 {
		first := all[0]
		since := cache.Without(whole, first.rows)
		if len(since) <= max(minCompact, len(first.rows)/compactPart) {
			data, err := cache.EncodeShard(since)
			return [][]byte{first.data, data}, err
		}
	}
	data, err := cache.EncodeShard(whole)
	return [][]byte{data}, err
}

// fetch reads what stands; nothing is there before the first writing.
func (s *SharedIndex) fetch(ctx context.Context, repo *repository) (sharedShards, error) {
	raw, err := repo.manifest(ctx, sharedTag)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(raw)
	if err != nil {
		return nil, err
	}
	if m.Config.MediaType != sharedConfigType {
		return nil, errors.New("read manifest: it is of something else, or of a newer toa")
	}
	s.Remote.known.assume(repo, m.Config.Digest)
	var all sharedShards
	for _, layer := range m.Layers {
		one, err := s.shard(ctx, repo, layer)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// shard reads one from the cache or from the registry and into the cache. They
// never change.
func (s *SharedIndex) shard(ctx context.Context, repo *repository, d v1.Descriptor) (sharedShard, error) {
	if d.Size > cache.MaxBlob {
		return sharedShard{}, fmt.Errorf("shard %s is larger than %d MiB", short(d.Digest), cache.MaxBlob>>20)
	}
	data, err := s.Remote.Blobs.Bytes(d.Digest.String())
	if err != nil {
		if data, err = readBlob(ctx, repo, d); err != nil {
			return sharedShard{}, err
		}
		_, _ = s.Remote.Blobs.Keep(data) // a full disk costs a request next time
	}
	s.Remote.known.assume(repo, d.Digest)
	rows, err := cache.DecodeShard(data)
	return sharedShard{data, rows}, err
}

func readBlob(ctx context.Context, repo *repository, d v1.Descriptor) ([]byte, error) {
	body, err := repo.open(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(body)
}

// put stores shards and makes the tag name them.
func (s *SharedIndex) put(ctx context.Context, repo *repository, shards [][]byte) (digest string, err error) {
	if err := failpoint.At(failpoint.SharedPut); err != nil {
		return "", err
	}
	config := content{Descriptor: describe(sharedConfigType, []byte("{}")), origin: memory("{}")}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config.Descriptor}
	blobs := []content{config}
	for _, data := range shards {
		blob := content{Descriptor: describe(sharedShardType, data), origin: memory(data)}
		manifest.Layers = append(manifest.Layers, blob.Descriptor)
		blobs = append(blobs, blob)
		_, _ = s.Remote.Blobs.Keep(data)
	}
	doc, err := newDocument(types.OCIManifestSchema1, manifest)
	if err != nil {
		return "", err
	}
	for _, blob := range blobs {
		if err := s.Remote.ensure(ctx, repo, blob, false); err != nil {
			return "", err
		}
	}
	return doc.Digest.String(), repo.put(ctx, doc, sharedTag)
}
