package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"toa.io/toa/images"
	"toa.io/toa/images/docker"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

const builderAuto = "auto"

func (f *buildFlags) addBuilderFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.builder, "builder", "", "auto, native, buildkit or docker (default: builder.kind, or auto)")
	flags.StringVar(&f.builderAddress, "builder-address", "", "address of the BuildKit engine, or several with commas (default: builder.address, or BUILDKIT_HOST)")
}

// checkBuilder refuses a builder that there is none of.
func (f *buildFlags) checkBuilder(cmd *cobra.Command) error {
	kind := cmp.Or(f.builder, builderAuto)
	if err := oneOf(cmd, "builder", kind, builderAuto, images.BuilderNative, images.BuilderBuildKit, images.BuilderDocker); err != nil {
		return err
	}
	if _, err := sdk.ParseAddresses(f.builderAddress); f.builderAddress != "" && err != nil {
		return usage(cmd, fmt.Errorf("--builder-address: %w", err))
	}
	return nil
}

// engines are what flags, context and machine say of builders.
type engines struct {
	kind, address, cache string
	// root is where relative image layouts start from.
	root string
	// hostOnly says that images are for this machine's platform.
	hostOnly bool
	native   *images.Native
	observe  orchestrator.Observe
}

func (s *session) engines(f *buildFlags, native *images.Native, observe orchestrator.Observe) engines {
	settings := s.workspace.Context.Builder
	return engines{
		kind:     cmp.Or(f.builder, settings.Kind, builderAuto),
		address:  cmp.Or(f.builderAddress, settings.Address, s.io.Env("BUILDKIT_HOST")),
		cache:    settings.Cache,
		root:     s.root,
		hostOnly: s.workspace.Context.Registry.Platforms == nil,
		native:   native,
		observe:  observe,
	}
}

// builder contacts nothing before it is asked for an image.
func (e engines) builder() (orchestrator.Builder, error) {
	if e.usesBuildKit() {
		if err := sdk.Needed(); err != nil {
			return nil, err
		}
	}
	switch {
	case e.kind == images.BuilderNative:
		return e.native, nil
	case e.kind == images.BuilderDocker:
		return e.docker(), nil
	case e.kind == builderAuto:
		return e.chooser(), nil
	case e.address == "":
		return nil, &configurationError{errors.New("builder buildkit has no address: state builder.address in context.toa.yaml, --builder-address URL or BUILDKIT_HOST")}
	default:
		return e.buildkit(), nil
	}
}

// usesBuildKit tells whether an engine at an address may be spoken to.
func (e engines) usesBuildKit() bool {
	return e.address != "" && (e.kind == images.BuilderBuildKit || e.kind == builderAuto)
}

func (e engines) buildkit() *sdk.BuildKit {
	return &sdk.BuildKit{Images: e.native, Address: e.address, Cache: e.cache, Observe: e.observe}
}

func (e engines) docker() *docker.Builder {
	return &docker.Builder{
		Blobs: e.native.Blobs, Layout: e.native.Layout, Root: e.root, Cache: e.cache, HostOnly: e.hostOnly, Observe: e.observe,
	}
}

// explain says of each image that is to be built which builder makes it.
func (e engines) explain(plan *orchestrator.Plan) {
	why := e.why()
	for i := range plan.Steps {
		if step := &plan.Steps[i]; !step.Cached {
			step.Builder = why(*step)
		}
	}
}

// why tells of a step; which engines there are is found out once.
func (e engines) why() func(orchestrator.Step) string {
	switch e.kind {
	case images.BuilderNative:
		return (&images.Chooser{}).Why
	case builderAuto:
		return e.chooser().Why
	default:
		return func(orchestrator.Step) string { return e.kind }
	}
}

// chooser builds natively what it can; of the engines it knows those that are there.
func (e engines) chooser() *images.Chooser {
	c := &images.Chooser{Native: e.native, Observe: e.observe}
	if e.address != "" {
		c.BuildKit = e.buildkit()
	}
	if _, err := exec.LookPath("docker"); err == nil {
		c.Docker = e.docker()
	}
	return c
}

// readTemplates reads the workspace's own Dockerfile templates:
// templates/composition.Dockerfile, and so on for each kind of image.
func readTemplates(files fs.FS) (map[string]string, error) {
	own := map[string]string{}
	for _, kind := range []string{orchestrator.KindComposition, string(orchestrator.Mono), orchestrator.KindDependencies, orchestrator.KindService} {
		path := "templates/" + kind + ".Dockerfile"
		text, err := fs.ReadFile(files, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = templates.CheckTemplate(string(text))
		}
		if err != nil {
			return nil, &configurationError{fmt.Errorf("%s: %w", path, err)}
		}
		own[kind] = string(text)
	}
	return own, nil
}
