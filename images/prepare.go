package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"toa.io/toa/orchestrator"
)

// Prepare implements orchestrator.Preparer: it opens an upload in the
// repository, which the first blob then takes, so that nothing is asked twice.
// Where something was published from here before, nothing is asked at all.
func (r *Remote) Prepare(ctx context.Context, step orchestrator.Step) error {
	if step.Previous != "" {
		return nil
	}
	repo, err := r.repository(step.Reference)
	if err != nil {
		return err
	}
	release, err := r.opening.take(ctx, repo.String())
	if err != nil {
		return err
	}
	defer release()
	asked, err := r.known.readiness(repo)
	if !asked {
		err = r.open(ctx, repo)
	}
	return err
}

func (r *Remote) open(ctx context.Context, repo *repository) error {
	session, err := repo.begin(ctx, call{})
	var answer *RegistryError
	switch {
	case errors.As(err, &answer) && answer.Status == http.StatusNotFound && slices.Contains(answer.Codes, "NAME_UNKNOWN"):
		err = &NoRepositoryError{Host: repo.registry.RegistryStr(), Repository: repo.name.RepositoryStr()}
	case err != nil:
		return fmt.Errorf("open an upload in %s: %w", repo, err)
	}
	r.known.prepared(repo, session, err)
	return err
}

// NoRepositoryError says that a registry has no such repository and does not
// make it when something is pushed there, as Amazon's.
type NoRepositoryError struct{ Host, Repository string }

func (e *NoRepositoryError) Error() string {
	return fmt.Sprintf("%s has no repository %s", e.Host, e.Repository)
}

// Is makes it the orchestrator's ErrNoRepository.
func (e *NoRepositoryError) Is(target error) bool { return target == orchestrator.ErrNoRepository }

// Hint is how to mend it.
func (e *NoRepositoryError) Hint() string {
	// <account>.dkr.ecr.<region>.amazonaws.com
	if parts := strings.Split(e.Host, "."); len(parts) >= 6 && parts[1] == "dkr" && parts[2] == "ecr" {
		return fmt.Sprintf("create it: aws ecr create-repository --region %s --repository-name %s", parts[3], e.Repository)
	}
	return "create it there: this registry does not do so by itself"
}
