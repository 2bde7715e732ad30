package cli

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/chart"
	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/extensions/bridge"
	"toa.io/toa/graph"
	"toa.io/toa/images"
	"toa.io/toa/images/buildkit"
	"toa.io/toa/images/docker"
	"toa.io/toa/internal/sdk"
	"toa.io/toa/internal/sources"
	"toa.io/toa/internal/ui"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
	"toa.io/toa/release/cluster"
	"toa.io/toa/workspace"
)

// mistakes are errors that a command ends with 2 for: the user's files, settings
// or command line are wrong, and nothing was touched.
var mistakes = []error{
	&usageError{}, &configurationError{}, &staleReferencesError{},
	&document.Error{}, &document.Errors{}, &sources.Error{}, &cache.FileError{},
	&workspace.NotFoundError{}, &workspace.NotInstalledError{},
	&graph.CycleError{}, &graph.UnknownError{}, &graph.DuplicateError{},
	&extensions.UnknownPackageError{}, &extensions.PortConflictError{}, &bridge.MissingNodeError{},
	&chart.NoVersionError{}, &chart.VersionError{}, &chart.NameError{}, &chart.PortError{}, &chart.CollisionError{}, &chart.AnnotationsError{},
	&images.NameError{}, &images.UnsetArgumentError{}, &buildkit.AddressError{},
	&orchestrator.UnpinnedError{}, &orchestrator.NoImageError{}, &orchestrator.SavedError{}, &orchestrator.MovedError{},
	&release.PackageError{}, &release.UnnamedError{}, &release.Failure{Configuration: true},
	&cluster.ContextError{}, &cluster.NamespaceError{}, &cluster.NoRevisionError{},
	&ui.ModeError{}, &ui.FormatError{}, &sdk.MissingError{},
}

// failures are those that it ends with 1 for, though they can be mended.
var failures = []error{
	&unpublishedError{}, &unwritableError{}, &lostError{}, &listenError{}, &damagedError{},
	&cache.ChangedError{}, &chart.MapSizeError{},
	&images.NeedsEngineError{}, &images.NoEngineError{}, &images.OldEngineError{}, &images.RunError{}, &images.NoSpaceError{},
	&images.NotOnDiskError{}, &images.NoBaseError{}, &images.NoPlatformError{}, &images.NoCommandError{},
	&images.RegistryError{}, &images.TooLargeError{}, &images.NoRepositoryError{}, &images.ReadOnlyError{}, &images.UnreachableError{}, &images.StillLostError{},
	&images.NoManifestError{},
	&images.NPMError{}, &images.LocalDependencyError{}, &images.UnlockedError{}, &images.PackedLinkError{}, &images.LockPlatformError{}, &images.TwoPackagesError{},
	&buildkit.RunError{}, &buildkit.UnreachableError{}, &buildkit.TooOldError{}, &buildkit.GoneError{}, &buildkit.DiskFullError{},
	&buildkit.NoEngineError{}, &buildkit.CacheError{}, &docker.Error{},
	&orchestrator.AuditError{}, &orchestrator.UnpublishedError{},
	&release.Failure{},
	&cluster.AccessError{}, &cluster.DrainError{}, &cluster.ObjectsError{}, &cluster.UnreachableError{}, &cluster.DeniedError{},
	&cluster.HeldError{}, &cluster.OwnersError{}, &cluster.PendingError{}, &cluster.MovedError{},
	&cluster.SecretsError{}, &cluster.SizeError{}, &cluster.NotReadyError{},
}

func TestMistakes(t *testing.T) {
	beside := errors.New("beside")
	for _, err := range mistakes {
		if !isMistake(errors.Join(beside, err)) {
			t.Errorf("%T is no mistake of the user's, and should be", err)
		}
	}
	for _, err := range failures {
		if isMistake(errors.Join(beside, err)) {
			t.Errorf("%T is a mistake of the user's, and should not be", err)
		}
	}
}

// Whoever writes an error that can be mended decides which of the two it is.
func TestEveryHintIsOfAMistakeOrAFailure(t *testing.T) {
	decided := map[string]bool{}
	for _, err := range append(mistakes, failures...) {
		of := reflect.TypeOf(err).Elem()
		decided[of.PkgPath()+"."+of.Name()] = true
	}
	for _, name := range errorTypes(t) {
		if !decided[name] {
			t.Errorf("%s has a Hint: where it is a mistake of the user's, found before anything was touched, give it a method Mistake; list it here in any case", name)
		}
	}
}

// errorTypes are the types of this module that have a method Hint or Mistake, by
// import path and name.
func errorTypes(t *testing.T) (names []string) {
	err := fs.WalkDir(os.DirFS("../.."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules" || file != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range parsed.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "Hint" && f.Name.Name != "Mistake" {
				continue
			}
			receiver := f.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			names = append(names, path.Join("toa.io/toa", path.Dir(file))+"."+receiver.(*ast.Ident).Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
