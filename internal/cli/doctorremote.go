package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/images"
	"toa.io/toa/internal/sdk"
)

// errSilent is why something that was asked is given up.
var errSilent = fmt.Errorf("no answer in %s", patience)

// engines are what a build without flags would use.
func (x *examination) engines() engines {
	native := &images.Native{Client: x.session.client(), Root: x.session.root}
	if blobs, err := cache.OpenBlobs(x.session.cache); err == nil {
		native.Blobs = blobs
	}
	return x.session.engines(&buildFlags{}, native, nil)
}

// builder says what makes images, whether it answers, and whether something
// has to be built that nothing here can.
func (x *examination) builder(ctx context.Context) finding {
	e := x.engines()
	uses, err := x.engine(ctx, e)
	if err != nil {
		return missing(err)
	}
	text := e.kind + strings.Join(append([]string{""}, uses...), ", ")
	if x.plan == nil {
		return worthKnowing(text+"; what has to be built is not known: "+x.unplanned.Error(), "")
	}
	e.explain(x.plan)
	for _, step := range x.plan.Steps {
		if reason, lacks := strings.CutPrefix(step.Builder, "no builder: "); lacks {
			return missing(&images.NoEngineError{Reason: fmt.Errorf("%s: %s", step.ID, reason)})
		}
	}
	return fine(text)
}

// engine asks the one that is used, if it is not native alone.
func (x *examination) engine(ctx context.Context, e engines) (uses []string, err error) {
	switch {
	case e.kind == images.BuilderNative:
		return nil, nil
	case e.usesBuildKit():
		if x.offline {
			return []string{"buildkit at " + e.address + " (not asked)"}, nil
		}
		limited, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
		defer cancel()
		return []string{"buildkit at " + e.address + " answers"}, e.buildkit().Reach(limited)
	case e.kind == images.BuilderBuildKit:
		_, err := e.builder()
		return nil, err
	}
	said, err := firstLine(ctx, "docker", "buildx", "version")
	if err != nil && e.kind == builderAuto {
		return []string{"no engine is known"}, nil
	}
	return []string{"docker: " + said}, err
}

// registry says where images go and whether that answers.
func (x *examination) registry(ctx context.Context) finding {
	base := x.session.registry
	if base == "" {
		return fine("none is named: images go to a layout in " + filepath.Join(x.session.cache, imagesDir))
	}
	client := x.session.client()
	account, err := client.Account(base)
	if err != nil {
		return missing(err)
	}
	text := fmt.Sprintf("%s over %s, with %s", account.Host, account.Scheme, account.Credentials)
	if x.offline {
		return fine(text + " (not asked)")
	}
	limited, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	if err := client.Greet(limited, base); err != nil {
		return missing(fmt.Errorf("%s: %w", base, err))
	}
	return fine(text + ": it answers")
}

// cluster says where releases go, whether that answers, and what would keep a
// release from landing there.
func (x *examination) cluster(ctx context.Context) finding {
	settings := x.session.workspace.Context.Release
	switch {
	case settings.Context == "":
		return fine("none is named: a release ends as a package")
	case x.offline:
		return fine(settings.Context + " (not asked)")
	}
	limited, cancel := context.WithTimeoutCause(ctx, patience, errSilent)
	defer cancel()
	target := x.session.target(settings)
	c, err := sdk.Open(target)
	if err != nil {
		return missing(err)
	}
	status, err := c.Status(limited)
	if err != nil {
		return missing(err)
	}
	text := fmt.Sprintf("%s at %s answers: %s of %s", settings.Context, status.Server, count(len(status.Revisions), "revision"), status.Name)
	var unversioned *chart.NoVersionError
	switch err := x.delivery(limited); {
	case errors.As(err, &unversioned):
		return worthKnowing(text+"; the context states no version, so nothing can be released", unversioned.Hint())
	case err != nil:
		return missing(err)
	case x.plan == nil:
		return worthKnowing(text+"; what would be released is not known: "+x.unplanned.Error(), "")
	}
	return fine(text)
}

// delivery checks the release as a build does before it begins.
func (x *examination) delivery(ctx context.Context) error {
	if x.plan == nil {
		return chart.Check(x.session.workspace)
	}
	delivery, err := x.session.delivery(&buildFlags{release: releaseAuto}, nil, x.session.note)
	if err != nil {
		return err
	}
	return x.session.checkDelivery(ctx, delivery, x.plan)
}
