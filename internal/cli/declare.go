package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"toa.io/toa/cache"
	"toa.io/toa/extensions"
	"toa.io/toa/extensions/bridge"
	"toa.io/toa/orchestrator"
	"toa.io/toa/workspace"
)

const monoUsage = "make one unit of all components and services"

// openPlanned opens a session and finds out which units it has. The caller
// closes the session.
func (g *globals) openPlanned(ctx context.Context, environment, registry string, mono bool) (*session, error) {
	s, err := g.enter(environment)
	if err != nil {
		return nil, err
	}
	if err := s.readPlanned(ctx, registry, mono); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *session) readPlanned(ctx context.Context, registry string, mono bool) (err error) {
	if err := s.read(registry); err != nil {
		return err
	}
	if s.units, err = s.findUnits(ctx, mono); err != nil {
		return err
	}
	return s.useImages(ctx)
}

// findUnits lists what runs, as far as images go. As long as neither the
// context nor a manifest changes it is remembered: declaring thousands of
// components takes longer than a run that builds nothing.
func (s *session) findUnits(ctx context.Context, mono bool) ([]orchestrator.Unit, error) {
	if s.mono = mono; mono {
		s.workspace.Together()
	}
	if err := s.workspace.Carried(); err != nil {
		return nil, err
	}
	key, err := s.declarationKey()
	if err != nil {
		return nil, err
	}
	name := "units of " + s.chain
	var units []orchestrator.Unit
	if rest, ok := bytes.CutPrefix(s.files.Note(name), key[:]); ok && json.Unmarshal(rest, &units) == nil {
		return units, nil
	}
	d, err := s.declare(ctx)
	if err != nil {
		return nil, err
	}
	units = unitsOf(d)
	if data, err := json.Marshal(units); err == nil && !s.askedForeign {
		s.files.SetNote(name, append(key[:], data...))
	}
	return units, nil
}

// asking notes that a package was asked, which may answer otherwise next time
// though no file of ours has changed.
type asking struct {
	extensions.Foreign
	session *session
}

func (a asking) Introduce(ctx context.Context, reference, from string, annotation json.RawMessage) (extensions.Introduction, error) {
	said, err := a.Foreign.Introduce(ctx, reference, from, annotation)
	a.session.askedForeign = a.session.askedForeign || !errors.Is(err, extensions.ErrUndescribed)
	return said, err
}

func (a asking) Describe(ctx context.Context, reference, from string, request extensions.Request) (extensions.Declaration, error) {
	a.session.askedForeign = true
	return a.Foreign.Describe(ctx, reference, from, request)
}

func unitsOf(d *extensions.Deployment) []orchestrator.Unit {
	units := make([]orchestrator.Unit, len(d.Units))
	for i, u := range d.Units {
		units[i] = orchestrator.Unit{ID: u.ID, Packages: u.Installs}
		if u.Service != nil {
			units[i].Service = &orchestrator.Service{Package: u.Service.Package, Image: u.Service.Image}
		}
	}
	return units
}

// declarationKey is of everything that decides which units there are, but for
// what foreign packages say.
func (s *session) declarationKey() (cache.Key, error) {
	h := cache.NewHasher("toa/units/v2")
	h.Field("version", buildVersion())
	h.Field("environment", s.chain)
	if s.mono {
		h.Field("mono", "")
	}
	paths := []string{workspace.ContextFile}
	for _, c := range s.workspace.Components {
		for _, dir := range append([]string{c.Dir}, c.Prototypes...) {
			if dir != workspace.StandardPrototype {
				paths = append(paths, dir+"/"+workspace.ManifestFile)
			}
		}
	}
	if err := s.hashInstalled(h); err != nil {
		return cache.Key{}, err
	}
	for _, path := range paths {
		digest, err := s.files.Digest(path)
		if err != nil {
			return cache.Key{}, err
		}
		h.Key(path, digest)
	}
	return h.Sum(), nil
}

// hashInstalled adds what npm has installed at the root, which tells of what
// packages bring.
func (s *session) hashInstalled(h *cache.Hasher) error {
	digest, err := s.files.Digest("node_modules/.package-lock.json")
	if errors.Is(err, cache.ErrNotFound) {
		return nil
	}
	h.Key("installed", digest)
	return err
}

// declare finds out what the workspace needs of a deployment, once. Names that
// only directories tell (of events and receivers) are read first.
func (s *session) declare(ctx context.Context) (*extensions.Deployment, error) {
	if s.deployment != nil {
		return s.deployment, nil
	}
	if err := s.workspace.Discover(s.files.FS()); err != nil {
		return nil, err
	}
	d, err := s.ask(ctx, extensions.Options{Mono: s.mono})
	if err != nil {
		return nil, err
	}
	for _, n := range d.Notices {
		s.warn(noticeText(n))
	}
	s.deployment = d
	return d, nil
}

// ask declares anew. A package that toa does not know is asked by its file, then
// by Node.
func (s *session) ask(ctx context.Context, o extensions.Options) (*extensions.Deployment, error) {
	node := &bridge.Node{Root: s.root, Memo: answers{s.files}}
	defer node.Close() //nolint:errcheck // it has answered
	o.Packages = s.files.FS()
	o.Foreign = asking{extensions.Several{extensions.Declarative{Root: o.Packages}, node}, s}
	return extensions.Declare(ctx, s.workspace, o)
}

// answers keeps what packages said, by the content of the package and of the
// question.
type answers struct{ files *cache.Files }

func (a answers) Recall(key string) []byte { return a.files.Note("answer " + key) }

func (a answers) Keep(key string, answer []byte) { a.files.SetNote("answer "+key, answer) }

// installed finds the package that the image of a service is made of.
func (s *session) installed(reference string) (*workspace.Installed, error) {
	return workspace.FindInstalled(s.files.FS(), reference)
}
