# Everything a reader types. `make` alone explains itself.
# The work is done by three Go programs: cluster (brings clusters up and down),
# course (chapters, exercises) and go test.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:

COURSE := .loopwright/tools/course
CLUSTER_COMMAND := .loopwright/tools/cluster
CONTROLLERS := .loopwright/tools/controllers
MUTANTS := .loopwright/tools/mutants
BOOK := .loopwright/tools/book
SLOWEST := .loopwright/tools/slowest

# Many tests wait for a cluster, so more packages than processors run at a time.
TESTED_AT_ONCE := $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1); test $$n -gt 4 && echo $$n || echo 4)

# The race detector needs a C compiler on Linux. Without one, the tests run all
# the same, and say what they leave out.
RACE := $(shell test "$$(go env CGO_ENABLED)" = 1 && command -v "$$(go env CC)" >/dev/null 2>&1 && echo -race)

##@ Taking the course
.PHONY: help
help: ## Show this help
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^## / { split(substr($$0, 4), row, " -- "); printf "  make %-22s %s\n", row[1], row[2] } \
		/^[a-z][a-z-]*:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "Options, as in \`make chapter-1 CLUSTER=kind\`:"
	@echo "  CLUSTER=embedded       compiled from Go modules, run on this machine (the default)"
	@echo "  CLUSTER=kind           a kind cluster; needs Docker, Podman or nerdctl. KIND_NAME, KIND_IMAGE"
	@echo "  CLUSTER=current        what kubectl talks to; asks first, unless YES=1"
	@echo "  NODES=5 PORT=6443      nodes and port of an embedded cluster; more in cluster/README.md"

.PHONY: demo
demo: $(COURSE) ## Bring a cluster up and roll a Deployment out with the controllers of mini; MINE=1 with yours
	@$(COURSE) demo $(if $(MINE),--mine)

.PHONY: demo-all
demo-all: $(COURSE) ## Show all of mini's controllers on a cluster that runs none of its own: kubectl creates, changes and deletes each kind
	@$(COURSE) demo --all $(if $(MINE),--mine)

## chapter-N -- Run chapter N's program on a cluster; NAIVE=1 the one that breaks, MINE=1 on your files, XRAY=1 in a browser, BUG=1 on what make bug-N has planted
## bench-N -- Measure what chapter N builds, beside the library's and the original's (a minute); MINE=1 yours, too
.PHONY: chapter exercise hint diff reset solve catch-up bug further
exercise hint diff reset solve catch-up further:
	@echo "which one? Give its number, as in \`make $@-1\`; \`make chapters\` and \`make progress\` list them"; exit 1
chapter: $(COURSE)
	@$(COURSE) chapter "$(N)" $(if $(NAIVE),--naive) $(if $(MINE),--mine) $(if $(BUG),--bug)
chapter-%: $(COURSE)
	@$(COURSE) chapter "$*" $(if $(NAIVE),--naive) $(if $(MINE),--mine) $(if $(BUG),--bug)

bench-%: $(COURSE)
	@$(COURSE) bench "$*" $(if $(MINE),--mine)

.PHONY: bench-texts
bench-texts: $(COURSE) ## Measure all chapters twice, and write what both runs agree on into their texts (30 minutes on a quiet machine)
	go -C benchmarks run ./cmd/chapters -each 1s -write ../chapters $(if $(CHAPTER),-chapter $(CHAPTER))
	@$(COURSE) sync

.PHONY: chapters
chapters: $(COURSE) ## List the chapters, and the ways through them
	@$(COURSE) chapters

## exercise-N -- Write the file of mini that chapter N builds, in my/, and test it; WATCH=1 does so on every save
## hint-N -- Show the next hint for exercise N
## diff-N -- Compare your solution with the reference, once it passes
## reset-N -- Start exercise N again; your file is kept under another name
## solve-N -- Put the reference in the place of your file, which is kept under another name
## bug-N -- Hunt a mistake that it plants in a copy of the reference, in my/; HINT=1 a hint, AGAIN=1 another one
## further-N -- Go further than exercise N: a task with a test, and no solution to read
## catch-up-N -- Fill in the reference for what you have not solved before chapter N
.PHONY: progress
progress: $(COURSE) ## Show which exercises you have begun and done
	@$(COURSE) progress
exercise-%: $(COURSE)
	@$(COURSE) exercise "$*" $(if $(WATCH),--watch)
hint-% reset-% solve-% further-%: $(COURSE)
	@$(COURSE) $(firstword $(subst -, ,$@)) "$*"
catch-up-%: $(COURSE)
	@$(COURSE) catch-up "$*"
bug: $(COURSE)
	@$(COURSE) bug "$(N)" $(if $(HINT),--hint) $(if $(AGAIN),--again)
bug-%: $(COURSE)
	@$(COURSE) bug "$*" $(if $(HINT),--hint) $(if $(AGAIN),--again)
diff-%: $(COURSE)
	@$(COURSE) diff "$*" $(if $(ANYWAY),--anyway)

##@ Teaching it
.PHONY: doctor warm submit class
doctor: ## Say whether this machine has what the course needs, and start a cluster; CLUSTER=none leaves that out
	@command -v go > /dev/null || { echo "stop  Go is not installed. Get it from https://go.dev/dl/"; exit 1; }
	@$(MAKE) --no-print-directory $(COURSE)
	@$(COURSE) doctor $(if $(filter none,$(CLUSTER)),--no-cluster)
warm: $(COURSE) ## Download and compile all that a day without a network needs: 6 GB of disk
	@$(COURSE) warm
# Some systems set NAME to that of the machine, so only one that was given to make counts.
submit: $(COURSE) ## Write your solutions into one small file, for your teacher; NAME=ada, or ada+ben for a pair
	@$(COURSE) submit $(if $(filter command,$(origin NAME)),--name "$$NAME")
# Some systems set PORT for other programs, so only one that was given to make counts.
class: $(COURSE) ## Judge the solutions of a class; DIR=../learners has a file or directory for each learner. N=3, WATCH=1, SERVE=1
	@$(COURSE) class "$(DIR)" $(if $(N),--only=$(N)) $(if $(TIMEOUT),--timeout=$(TIMEOUT)) $(if $(WATCH),--watch) \
		$(if $(SERVE),--serve $(if $(filter command,$(origin PORT)),--port=$(PORT)))

##@ The book
BUILT_BOOK := .loopwright/book/index.html
.PHONY: book book-serve
book: $(BOOK) ## Make the course a site with the playground in .loopwright/book, which can be read from the folder, too; needs Node
	@$(BOOK) build
book-serve: $(BOOK) ## Show the book on this machine until Ctrl-C, after making it if a text is newer; PORT=8080
	@test -f $(BUILT_BOOK) && test -z "$$(find . \( -name node_modules -o -name .loopwright -o -path ./my -o -path ./docs/book/pages \) -prune \
		-o \( -name '*.md' -o -name chapter.yaml \) -newer $(BUILT_BOOK) -print | head -1)" || $(BOOK) build
	@$(BOOK) serve

##@ The playground
.PHONY: playground film
playground: ## Make the page with a cluster in it, .loopwright/playground/index.html; needs Node
	@go run ./playground/build -o .loopwright/playground
film: book ## Record the film of the README, docs/film.gif: a rollout that goes wrong, in the playground
	@cd docs/book && FILM=../../../docs/film.gif BOOK=../../../.loopwright/book BOOK_BASE=/ go test -count=1 -run TestTheFilmCanBeMade ./browser

##@ The cluster
.PHONY: cluster-up cluster-down cluster-status
cluster-up: $(CLUSTER_COMMAND) ## Find or make the cluster, and wait until it can be used
	@$(CLUSTER_COMMAND) up
cluster-status: $(CLUSTER_COMMAND) ## Show what runs, where, since when, and how to reach it
	@$(CLUSTER_COMMAND) status
cluster-down: $(CLUSTER_COMMAND) ## Remove the cluster and its data
	@$(CLUSTER_COMMAND) down

##@ The controllers
.PHONY: controllers mini
controllers: $(CLUSTER_COMMAND) $(if $(MINE),,$(CONTROLLERS)) ## Run the library's controllers on a cluster until Ctrl-C; FLAGS=--help. MINE=1: mini's with your files
ifdef MINE
	@$(MAKE) --no-print-directory mini MINE=1
else
	@$(CLUSTER_COMMAND) exec $(CONTROLLERS) $(FLAGS)
endif
mini: $(CLUSTER_COMMAND) $(COURSE) ## Run the controllers of mini on a cluster until Ctrl-C; MINE=1 with your files, ALL=1 those of part V, too
	@ORIGINALS=$(if $(ALL),bare,-garbage-collector-controller) $(CLUSTER_COMMAND) exec $(COURSE) controllers $(if $(MINE),--mine)

IMAGE := loopwright/controllers:dev
IMAGE_PLATFORMS := linux/amd64,linux/arm64

.PHONY: image
image: ## Write the controllers as a container image, for amd64 and arm64; needs no Docker. IMAGE=name:tag
	@cd tools && go run ./image -o ../.loopwright/image/controllers.tar -name $(IMAGE) -platforms $(IMAGE_PLATFORMS) ../controllers/cmd/controllers

##@ Working on it
.PHONY: release
release: ## Cut a release, up to the push: version, notes, tags of all modules, programs, the book. VERSION=v0.1.0
	@cd tools && go run ./release "$(VERSION)"
.PHONY: quick test test-packages test-modules test-course test-all
# Linked without symbol tables: no test reads them, and there are 200 binaries to link.
TESTED := -vet=off -ldflags=-s -p $(TESTED_AT_ONCE)
# The longest first, so that no processor waits for them at the end.
LIBRARY = $(shell go list ./mini ./controllers/garbagecollector ./internal/tests/hostile ./... | grep -v /chapters/)
# Each command of a test is a part of the report at its end, and so is each test binary that it runs.
test test-packages test-modules test-course: export SLOWEST_LOG = $(CURDIR)/.loopwright/slowest.log
PART = $(SLOWEST) run -name
EACH_PART = -exec "'$(CURDIR)/$(SLOWEST)' run"
quick: ## Run the unit tests of the library and of mini: no cluster, no race detector (2 minutes)
	@echo "The unit tests of the library and of mini"
	@go test -short $(TESTED) . ./informer/... ./workqueue/... ./manager/... ./controllers/... ./trace/... ./mini/...
test: $(CLUSTER_COMMAND) $(COURSE) $(SLOWEST) ## Prove the library and the course: race detector, real API server, all exercises (an hour)
	@$(CLUSTER_COMMAND) build
	@test -n "$(RACE)" || echo "No C compiler, so no race detector: install one, and the tests use it."
	@rm -f $(SLOWEST_LOG)
	@$(MAKE) --no-print-directory -j3 test-packages test-modules test-course || { $(SLOWEST) report; exit 1; }
	@echo "What took the most processor time, without what it ran and is listed itself:"
	@$(SLOWEST) report
# exec: make passes a SIGTERM on to the command, and not to a shell; with the go command its tests and their clusters end.
# `make check` vets everything. -count=1 where clusters and texts are read, which the cache of test results does not know.
test-packages: $(SLOWEST) $(COURSE)
	@echo "The library and mini"
	@exec $(PART) "compiling and linking the library's tests" go test $(RACE) -count=1 -timeout 45m $(EACH_PART) $(TESTED) $(LIBRARY)
	@echo "The chapters' programs"
	@exec $(PART) "the chapters' programs" $(COURSE) programs $(subst -race,--race,$(RACE))
BENCH_LOG := .loopwright/test-benchmarks.log
test-modules: $(SLOWEST)
	@echo "The benchmarks, each once, and their tests; what they say goes to $(BENCH_LOG)"
	@$(PART) "the benchmarks, each once, and their tests" go -C benchmarks test -short -timeout 30m $(TESTED) -bench . -benchtime 1x ./... > $(BENCH_LOG) 2>&1 || { cat $(BENCH_LOG); exit 1; }
	exec $(PART) "Kubernetes' own controllers in the simulation" go -C benchmarks/originals test $(TESTED) ./...
	exec $(PART) "compiling and linking the benchmarks" go -C benchmarks test -count=1 -timeout 20m $(EACH_PART) $(TESTED) -run RealServer ./client ./election ./controllers ./endtoend ./shards
	exec $(PART) "the drop-in's tests" go -C dropin test $(TESTED) ./...
	exec $(PART) "compiling and linking the operator's tests" go -C operator test -count=1 -timeout 20m $(EACH_PART) $(TESTED) ./compare
	exec $(PART) "the tests of the image and of the release" go -C tools test $(TESTED) ./image ./release
	exec $(PART) "compiling and linking the book's tests" go -C docs/book test -short -count=1 -timeout 60m $(EACH_PART) $(TESTED) ./...
# Packages and modules wait for their clusters half of the time; the exercises use the other half.
COURSE_LOG := .loopwright/test-course.log
test-course: $(COURSE) $(SLOWEST)
	@echo "Beside the tests, all exercises are checked; what they say goes to $(COURSE_LOG)"
	@$(PART) "all exercises" $(COURSE) verify --by-name > $(COURSE_LOG) 2>&1 || { cat $(COURSE_LOG); exit 1; }
	@$(PART) "the course's own rules" go test -count=1 $(TESTED) -run TestThisRepositoryKeepsItsOwnRules ./internal/course
	@echo "All exercises hold: $$(grep 'solutions in' $(COURSE_LOG))"

# The last steps take longest.
test-all: export SLOWEST_LOG = $(CURDIR)/.loopwright/slowest-all.log
test-all: $(SLOWEST) ## Prove the rest, too, before a release: every platform, every width of the book, all scenarios, all mutants (3 hours)
	@rm -f $(SLOWEST_LOG)
	@$(PART) "make check" $(MAKE) --no-print-directory check
	@$(PART) "make test" $(MAKE) --no-print-directory test
	@$(PART) "make cross" $(MAKE) --no-print-directory cross
	@LOOPWRIGHT_TEST_ALL=1 $(PART) "all of internal/tests/endtoend" go test -count=1 -timeout 30m ./internal/tests/endtoend
	@LOOPWRIGHT_TEST_ALL=1 $(PART) "all stories of the garbage collectors" go -C benchmarks test -count=1 -timeout 30m -run Garbage ./controllers
	@$(PART) "all of the book in a browser" go -C docs/book test -count=1 -timeout 30m ./browser
	@$(PART) "make bench QUICK=1" $(MAKE) --no-print-directory bench QUICK=1
	@$(PART) "make verify" $(MAKE) --no-print-directory verify
	@$(PART) "make compare-controllers" $(MAKE) --no-print-directory compare-controllers
	@$(PART) "make mutants" $(MAKE) --no-print-directory mutants
	@echo "What took the most processor time:"
	@$(SLOWEST) report

.PHONY: verify sync
verify: $(COURSE) ## Prove that every mistake in the exercises is caught by the test that it names, and by none before it
	@$(COURSE) verify
sync: $(COURSE) ## Bring the texts up to date with the code they quote
	@$(COURSE) sync

.PHONY: drift
drift: $(COURSE) ## List the chapters to read again because an original has changed since; MODULE=k8s.io/client-go@v0.38.0, DIFF=1
	@$(COURSE) drift $(MODULE) $(if $(DIFF),--diff)

.PHONY: mutants
mutants: $(MUTANTS) ## Make small mistakes in mini and list those that no test notices; FILE=mini/queue.go
	@$(MUTANTS) $(FILE)

.PHONY: compare-controllers
compare-controllers: $(CLUSTER_COMMAND) ## Play 476 scenarios with our controllers and with Kubernetes' own; list what differs (about 30 minutes)
	@$(CLUSTER_COMMAND) build
	cd benchmarks && go run ./cmd/controllers && go run ./cmd/controllers -rest

.PHONY: operators
operators: ## Run the tests of operators that others wrote, on controller-runtime and on the drop-in; RUN=kro
	cd benchmarks && go run ./cmd/operators -run '$(RUN)'

.PHONY: simulate
simulate: $(if $(MINE)$(MINI),$(COURSE)) ## Play 1,000 bad days with each controller, and shrink the first that fails; SEEDS=10000, CONTROLLER=replicaset, SEED=7. MINE=1: with your ReplicaSet and Deployment, MINI=1: with mini's, ORIGINALS=1: with Kubernetes', too (WRITE=1: into docs/bad-days.md), MISTAKES=1: break ours on purpose
	@$(if $(MINE)$(MINI),$(COURSE) exam $(if $(MINE),--mine) -- -shrink 30s,go run ./internal/simulation/cmd/simulate $(if $(ORIGINALS),-originals) $(if $(WRITE),-write docs/bad-days.md) $(if $(MISTAKES),-mistakes)) \
		-seeds $(or $(SEEDS),1000) $(if $(CONTROLLER),-controller $(CONTROLLER)) $(if $(SEED),-seed $(SEED)) $(if $(ONLY),-only $(ONLY))

.PHONY: walkthroughs
walkthroughs: ## Play the walk-throughs of kubernetes.io with Kubernetes' own controllers, mini's and the library's
	go test -count=1 -timeout 30m ./internal/tests/walkthrough -originals

.PHONY: api
api: ## Compare our exported API with controller-runtime's; write docs/generated/api.md, internal/migrate/names.yaml and dropin/
	cd benchmarks && go run ./cmd/apidiff && go run ./cmd/dropin

.PHONY: event-path
event-path: ## List the functions that one event passes from the watch to the reconcile, here and in the originals
	cd benchmarks && go run ./cmd/eventpath

.PHONY: check
check: $(COURSE) ## Check format, vet, lint and generated text (3 minutes)
	@files="$$(find . \( -name .loopwright -o -name my -o -name node_modules \) -prune -o -name "*.go" -exec gofmt -l {} +)"; \
		test -z "$$files" || { echo "run gofmt -w on these files:"; echo "$$files"; exit 1; }
	go mod tidy -diff
	cd cluster/controlplane && go mod tidy -diff
	cd tools && go mod tidy -diff && go vet ./image ./release
	cd benchmarks && go mod tidy -diff && go vet ./... && go run ./cmd/apidiff -check && go run ./cmd/dropin -check
	cd benchmarks/originals && go mod tidy -diff && go vet ./...
	cd dropin && go mod tidy -diff && go vet ./...
	cd operator && go mod tidy -diff && go vet ./...
	cd docs/book && go mod tidy -diff && go vet ./...
	@$(COURSE) check
	@$(MAKE) --no-print-directory playground
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	cd cluster/controlplane && CGO_ENABLED=0 go vet -trimpath ./...

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

.PHONY: cross cross-controlplane
# With -export, list compiles, and links none of the 80 programs.
cross: ## Compile the main module for every platform that a learner may have
	@for platform in $(PLATFORMS); do \
		echo "compiling for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go list -export ./... > /dev/null || exit 1; \
	done
cross-controlplane: ## Compile the control plane for all platforms (about 15 minutes)
	@for platform in $(PLATFORMS); do \
		echo "compiling the control plane for $$platform"; \
		( cd cluster/controlplane && CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} \
			go build -trimpath -o /dev/null . && CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} \
			go build -trimpath -o /dev/null ./kwok ) || exit 1; \
	done

.PHONY: bench
bench: $(CLUSTER_COMMAND) ## Compare with client-go and controller-runtime (an hour), and write docs/benchmarks.md and .csv; QUICK=1 takes 3 minutes
ifdef QUICK
	cd benchmarks && go run ./cmd/ratios -quick
else
	@$(CLUSTER_COMMAND) build
	cd benchmarks && go run ./cmd/ratios -report ../docs && go run ./cmd/controllerspeed
endif

.PHONY: bench-million
bench-million: $(CLUSTER_COMMAND) ## Measure how our costs and the originals' grow, up to a million objects, for docs/benchmarks.md (two runs of an hour each on a quiet machine; goes on from where you stopped it); SIZES=1000,10000 is for trying it
ifdef SIZES
	cd benchmarks && go run ./cmd/growth -sizes $(SIZES) -runs 1 -file ../.loopwright/growth-try.csv -new
else
	@$(CLUSTER_COMMAND) build
	cd benchmarks && go run ./cmd/growth -cluster -report ../docs && go run ./cmd/ratios -page ../docs
endif

.PHONY: bench-shards
bench-shards: $(CLUSTER_COMMAND) ## Measure 1, 2 and 4 replicas that share 100,000 objects (20 minutes), and write it into docs/sharding.md; OBJECTS=2000 prints it
	@$(CLUSTER_COMMAND) build
	cd benchmarks && go run ./cmd/shards $(if $(OBJECTS),-objects $(OBJECTS) -namespaces 50,-write ../docs/sharding.md)

.PHONY: clean
clean: $(CLUSTER_COMMAND) ## Remove the cluster, its binaries, and what make built
	@$(CLUSTER_COMMAND) clean
	@rm -rf .loopwright

# The go command knows best when there is something to build.
.PHONY: $(COURSE) $(CLUSTER_COMMAND) $(CONTROLLERS) $(MUTANTS) $(BOOK) $(SLOWEST)
# Compiling a tool is silent, and the first time it takes a minute or two.
define compile
	@mkdir -p $(@D) || { echo "Nothing can be written here: copy the checkout to a directory that you can write to."; exit 1; }
	@( trap 'kill $$s 2>/dev/null' TERM; sleep 5 >/dev/null 2>&1 & s=$$!; wait $$s && echo "compiling $@: the first time takes a minute or two" >&2 ) & \
		waits=$$!; $(1); result=$$?; kill $$waits 2>/dev/null; exit $$result
endef
$(COURSE):
	$(call compile,go build -o $@ ./internal/course/cmd/course)
$(CLUSTER_COMMAND):
	$(call compile,go build -o $@ ./cluster/cmd/cluster)
$(CONTROLLERS):
	$(call compile,go build -o $@ ./controllers/cmd/controllers)
$(MUTANTS):
	$(call compile,go build -o $@ ./internal/mutants/cmd/mutants)
$(SLOWEST):
	$(call compile,go build -o $@ ./internal/slowest)
$(BOOK):
	$(call compile,cd docs/book && go build -o ../../$@ ./cmd/book)
