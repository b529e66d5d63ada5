// The clock of a Go program in WebAssembly, which a page drives: it runs, pauses, goes slowly or as
// fast as it can, or goes on to the next timer and no further. The Go code knows nothing of it: the
// clock takes the place of four functions of wasm_exec.js.
//
//   const clock = new Clock()
//   clock.drive(go)            // before WebAssembly.instantiate
//   clock.run(1)               // as time passes; 0.1 is slow motion; Infinity jumps from timer to timer
//   clock.pause()
//   clock.step()               // fires the next timer, also while it's paused
//   clock.fast(600_000)        // jumps for ten minutes, and then goes on as before
//
// While the program computes, its time passes as it does outside, times the speed. With Infinity, and
// in a step, it stands still: then an hour of waiting takes as long as what happens in it.

const inMs = 1e6 // nanoseconds

export class Clock {
  #real // () => ms, never backwards
  #setTimer
  #clearTimer
  #wallAtStart // ms since 1970

  #speed = 0
  #now = 0 // ms of the program, at the moment #since
  #since // ms outside
  #timers = new Map() // id -> ms of the program
  #nextID = 1
  #alarm // the timer outside; undefined is none
  #fire = () => {}
  #jump // { until, speed }: where fast() ends, and how it goes on; undefined otherwise
  #onSpeed = () => {}

  constructor({
    real = () => performance.now(),
    wall = Date.now(),
    setTimer = (f, ms) => setTimeout(f, ms),
    clearTimer = (id) => clearTimeout(id),
  } = {}) {
    this.#real = real
    this.#setTimer = setTimer
    this.#clearTimer = clearTimer
    this.#wallAtStart = wall
    this.#since = real()
  }

  /** The program's time in ms, from its start. */
  now() {
    if (this.#speed === 0 || this.#speed === Infinity) return this.#now
    return this.#now + (this.#real() - this.#since) * this.#speed
  }

  get speed() {
    return this.#speed
  }

  /** When the next timer fires, in the program's ms; undefined if the program waits for none. */
  get next() {
    let first
    for (const at of this.#timers.values()) if (first === undefined || at < first) first = at
    return first
  }

  run(speed = 1) {
    this.#set(this.now(), speed)
  }

  pause() {
    this.#set(this.now(), 0)
  }

  /** Goes on to the next timer, and stops there. Returns false if there is none. */
  step() {
    if (this.next === undefined) return false
    this.#set(this.now(), 0)
    this.#fireNext()
    return true
  }

  /** Jumps from timer to timer for so many ms of the program's time, and goes on as before. */
  fast(ms) {
    const jump = { until: this.now() + ms, speed: this.#jump?.speed ?? this.#speed }
    this.#set(this.now(), Infinity)
    this.#jump = jump
    this.#wind()
  }

  /** Calls f after each change of the speed. */
  onSpeed(f) {
    this.#onSpeed = f
  }

  /** Replaces what a Go program of wasm_exec.js knows of time. */
  drive(go) {
    const view = () => new DataView(go._inst.exports.mem.buffer)
    this.#fire = (id) => {
      // As wasm_exec.js does: Go may not have noted the timer yet, and clears it when it has.
      do go._resume()
      while (this.#timers.has(id) && !go.exited)
    }
    Object.assign(go.importObject.gojs, {
      'runtime.nanotime1': (sp) => {
        view().setBigInt64((sp >>> 0) + 8, BigInt(Math.round((1000 + this.now()) * inMs)), true) // never 0
      },
      'runtime.walltime': (sp) => {
        const ms = this.#wallAtStart + this.now()
        const seconds = Math.floor(ms / 1000)
        view().setBigInt64((sp >>> 0) + 8, BigInt(seconds), true)
        view().setInt32((sp >>> 0) + 16, Math.floor((ms - seconds * 1000) * inMs), true)
      },
      'runtime.scheduleTimeoutEvent': (sp) => {
        const delay = Number(view().getBigInt64((sp >>> 0) + 8, true))
        view().setInt32((sp >>> 0) + 16, this.schedule(delay), true)
      },
      'runtime.clearTimeoutEvent': (sp) => this.clear(view().getInt32((sp >>> 0) + 8, true)),
    })
  }

  /** Has a timer fire in so many ms of the program's time, and returns its number. */
  schedule(delay) {
    const id = this.#nextID++
    this.#timers.set(id, this.now() + delay)
    this.#wind()
    return id
  }

  clear(id) {
    this.#timers.delete(id)
    this.#wind()
  }

  /** For tests: what a timer that fires calls, in place of a program. */
  onFire(fire) {
    this.#fire = fire
  }

  #set(now, speed) {
    this.#now = now
    this.#since = this.#real()
    this.#speed = speed
    this.#jump = undefined
    this.#wind()
    this.#onSpeed()
  }

  // Sets the timer outside to when the next one of the program is due.
  #wind() {
    if (this.#alarm !== undefined) this.#clearTimer(this.#alarm)
    this.#alarm = undefined
    const next = this.next
    if (this.#speed === 0 || (next === undefined && !this.#jump)) return
    const wait = this.#speed === Infinity ? 0 : Math.max(0, (next - this.now()) / this.#speed)
    this.#alarm = this.#setTimer(() => {
      this.#alarm = undefined
      if (this.#jump && !(this.next <= this.#jump.until)) this.#set(this.#jump.until, this.#jump.speed)
      else if (this.#speed === Infinity || this.now() >= next) this.#fireNext()
      else this.#wind() // timers of a browser may fire a bit early
    }, wait)
  }

  #fireNext() {
    const next = this.next
    let id
    for (const [each, at] of this.#timers) if (at === next && (id === undefined || each < id)) id = each
    this.#now = Math.max(this.now(), next)
    this.#since = this.#real()
    this.#fire(id)
    this.#wind()
  }
}
