package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// foresee does what a plan does beyond the images: it compares the release with
// what stands, and saves the plan. Changes are nil where nobody asked for them.
func (s *session) foresee(cmd *cobra.Command, plan *orchestrator.Plan, f *planFlags) (*ui.Changes, error) {
	if !f.diff && f.save == "" {
		return nil, nil
	}
	if err := f.release.checkRelease(cmd); err != nil {
		return nil, err
	}
	if err := sdk.Needed(); err != nil {
		return nil, err
	}
	delivery, err := s.delivery(&f.release, nil, s.note)
	if err != nil {
		return nil, err
	}
	saved, err := s.savePlan(cmd.Context(), plan, delivery)
	if err != nil {
		return nil, err
	}
	if f.save != "" {
		if err := s.writePlan(f.save, saved); err != nil {
			return nil, err
		}
	}
	if !f.diff {
		return nil, nil
	}
	if delivery == nil {
		return nil, usage(cmd, errors.New("--diff compares releases: --release none makes none"))
	}
	return s.compare(cmd.Context(), delivery, saved.Release)
}

// note prints what a person should know.
func (s *session) note(event orchestrator.Event) {
	if n, ok := event.(orchestrator.NoticeEvent); ok {
		s.warn(n.Text)
	}
}

func (s *session) writePlan(path string, saved orchestrator.Saved) error {
	data, err := saved.Encode()
	if err != nil {
		return err
	}
	// What is planned for production is not for everybody on the machine.
	if err := replaceBytes(path, 0o600, data); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

// compare compares the manifests of a release with those that stand.
func (s *session) compare(ctx context.Context, delivery *orchestrator.Delivery, planned *orchestrator.SavedRelease) (*ui.Changes, error) {
	against, changes, err := s.differences(ctx, delivery, planned)
	if err != nil {
		return nil, err
	}
	all := &ui.Changes{Against: against, Objects: make([]ui.ObjectChange, len(changes))}
	for i, c := range changes {
		all.Objects[i] = ui.ObjectChange{Action: c.Action, Kind: c.Kind, Name: c.Name, Text: c.Text}
	}
	return all, nil
}

func (s *session) differences(ctx context.Context, delivery *orchestrator.Delivery, planned *orchestrator.SavedRelease) (string, []sdk.Change, error) {
	if packager, ok := delivery.Releaser.(*release.Packager); ok {
		return lastPackage(packager, planned)
	}
	c, err := sdk.Open(s.target(delivery.Releaser.(*sdk.Releaser).Settings))
	if err != nil {
		return "", nil, err
	}
	changes, err := c.Diff(ctx, planned.Manifests)
	return fmt.Sprintf("revision %d of %s in %s at %s", planned.Deployed, planned.Name, planned.Namespace, planned.Server), changes, err
}

// lastPackage compares with the package that was made last, if there is one.
func lastPackage(packager *release.Packager, planned *orchestrator.SavedRelease) (string, []sdk.Change, error) {
	data := packager.Last()
	if data == nil {
		changes, err := sdk.DiffManifests("", planned.Manifests)
		return "nothing: no package was made yet", changes, err
	}
	made, err := release.Unpack(data)
	if err != nil {
		return "", nil, err
	}
	rendered, err := sdk.Render(made, planned.Namespace)
	if err != nil {
		return "", nil, err
	}
	changes, err := sdk.DiffManifests(rendered.Manifest, planned.Manifests)
	return "the last package, " + made.Name + "-" + made.Version, changes, err
}
