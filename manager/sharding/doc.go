// Package sharding lets several replicas of a program share its work, so that none of them waits
// as the followers of a leader do.
//
// Say replica a runs alone and has all namespaces. Replica b starts: it creates a Lease of its
// own, and a sees it. Both know the same namespaces and the same members, so both come to the
// same plan: from now on, half of the namespaces should be b's. But b does nothing yet. First a
// stops: it begins no more reconciles in that half, waits for those that are under way, and
// writes into the table that the half is b's. Only then does b list the objects there, and begin.
// If a is killed instead, nobody gives b anything. So b waits until it has seen no renewal of a's
// Lease for as long as a itself would have gone on without one, writes into that Lease that a is
// gone, and takes what a had.
//
// The rule is:
//
//   - A namespace changes hands only in the table, which is one object: of two writes that build
//     on the same version, one fails.
//   - Its holder gives it away after its last reconcile there has ended.
//   - Another one takes it only if it's free, because nobody has it or its holder is gone.
//   - Whoever can't renew its Lease, or can't read the others', stops by its own clock.
//
// So a namespace has one replica that works there, or none; never two. What nobody has to agree
// on is who should have what: the plan (plan.go) is a pure function of what each replica sees,
// and two that see something different for a moment can only be slow, because nobody takes what
// isn't given. The rule (rule.go) is pure, too: explore_test.go plays it in a small world, in all
// orders of events up to some depth.
//
// The namespaces' names are hashed, and the table says who has which range of the hashes, because
// that's what an API server can select by (ListOptions.ShardSelector, KEP-5866). Its bounds lie
// where the namespaces are.
//
// Data flow: Leases -> members and table -> replica (the rule) -> Gate, which reconciles pass,
// and Config.Keep, which makes the caches keep what's ours -> table.
//
// Neighbours: below it is leaderelection, whose elector renews a member's Lease; to it, each
// member is the leader of a Lease that nobody else wants. Above it is the manager, which connects
// it with the caches and the controllers; they know it only as informer.Shard and config.Shards.
package sharding
