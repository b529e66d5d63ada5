// The figures of the book that readers play with: <loop-figure name="queue"><img ...></loop-figure>. All that a figure
// knows, decides and draws is in Go (docs/book/figures); this script loads the module of a figure when somebody asks
// for it, and shows what it says. It is a classic script, so that it works from file:// too.
(() => {
  'use strict'
  const modules = {} // which module a figure is in; docs/book/figures/build fills it in
  const base = new URL('.', document.currentScript.src).href
  const started = {} // a promise for each module that was asked for

  const make = (tag, props = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), props)
    element.append(...children)
    return element
  }

  const loadScript = (url) => new Promise((resolve, reject) => {
    const failed = () => reject(new Error(`${url} could not be loaded`))
    document.head.append(make('script', { src: url, onload: resolve, onerror: failed }))
  })

  // A page from file:// may not fetch, but it may load scripts: there the module is text in one.
  async function bytesOf(module) {
    if (location.protocol === 'file:') {
      await loadScript(`${base}${module}.wasm.js`)
      return Uint8Array.from(atob(globalThis.loopwrightModules[module]), (c) => c.charCodeAt(0))
    }
    const answer = await fetch(`${base}${module}.wasm.gz`)
    if (!answer.ok) throw new Error(`${module}.wasm.gz could not be loaded: ${answer.status}`)
    return new Uint8Array(await answer.arrayBuffer())
  }

  async function start(module) {
    if (typeof WebAssembly !== 'object') throw new Error('this browser has no WebAssembly, or it is switched off')
    if (!globalThis.Go) await loadScript(`${base}wasm_exec.js`)
    let bytes = await bytesOf(module)
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) { // some servers have unpacked it already
      bytes = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
    }
    const go = new Go()
    const { instance } = await WebAssembly.instantiate(bytes, go.importObject)
    go.run(instance) // it never ends: the figures call back into it
    return globalThis.loopwrightFigures[module]
  }

  class LoopFigure extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return
      this.button = make('button', { type: 'button', className: 'try', textContent: 'Try it', onclick: () => this.open() })
      this.start = make('div', { className: 'start' }, this.button, make('span', { textContent: 'It runs the library\u2019s own code, in this page.' }))
      this.problem = make('p', { className: 'problem', hidden: true })
      this.problem.setAttribute('role', 'alert')
      this.picture = make('div', { className: 'picture', tabIndex: 0, hidden: true })
      this.said = make('p', { className: 'said', hidden: true })
      this.said.setAttribute('aria-live', 'polite')
      this.bar = make('div', { className: 'bar controls', hidden: true })
      this.controls = make('div', { className: 'controls', hidden: true })
      this.still = make('slot')
      this.frame = make('div', { className: 'frame', onkeydown: (event) => this.step(event) },
        this.still, this.picture, this.bar, this.said, this.controls, this.start, this.problem)
      this.attachShadow({ mode: 'open' }).append(make('link', { rel: 'stylesheet', href: `${base}figures.css` }), this.frame)
      const root = document.documentElement // a page of the book is dark if it has this class
      const shade = () => this.frame.classList.toggle('dark', root.classList.contains('dark'))
      new MutationObserver(shade).observe(root, { attributeFilter: ['class'] })
      shade()
    }

    async open() {
      const module = modules[this.getAttribute('name')]
      this.problem.hidden = true
      this.button.textContent = 'Loading …'
      try {
        if (!module) throw new Error('there is no figure of this name')
        started[module] ??= start(module)
        this.figure = (await started[module])(this.getAttribute('name'))
        this.picture.setAttribute('role', 'group')
        this.show(this.figure.look(this.width()))
        const keys = this.view.controls.some((c) => c.next) ? 'the arrow keys step forward and back' : 'the left arrow key steps back'
        this.picture.setAttribute('aria-label', `${this.figure.title}: ${keys}`)
        this.still.hidden = this.start.hidden = true
        this.picture.hidden = this.bar.hidden = this.said.hidden = this.controls.hidden = false
        this.picture.focus({ preventScroll: true })
        new ResizeObserver(() => { if (this.width() !== this.drawn) this.show(this.figure.look(this.width())) }).observe(this)
      } catch (error) {
        this.fail(error)
      }
      this.button.textContent = 'Try it'
    }

    fail(error) {
      delete started[modules[this.getAttribute('name')]]
      this.problem.textContent = `This figure cannot be used here: ${error.message}. The picture shows a part of what it does.`
      this.problem.hidden = this.start.hidden = this.still.hidden = false
      this.picture.hidden = this.bar.hidden = this.said.hidden = this.controls.hidden = true
    }

    // A figure is drawn in one of two widths, and scaled a little.
    width() { return this.clientWidth < 540 ? 360 : 640 }

    act(key, value = '') {
      try {
        this.show(this.figure.act(this.width(), key, value))
      } catch (error) {
        this.fail(error)
      }
    }

    show(view) {
      if (!view) throw new Error('it has stopped')
      this.view = view
      this.drawn = this.width()
      this.picture.innerHTML = view.picture
      this.said.textContent = view.said
      this.arrange(view.controls)
      for (const c of view.controls) this.update(c)
    }

    // Controls stay the same elements as long as they can, so that a slider can be dragged and the focus stays. Those
    // without a group are in the bar. Whoever has pressed the one that steps can press the next one that does.
    arrange(controls) {
      const arranged = controls.map((c) => `${c.group}/${c.kind}/${c.key}/${c.options.map((o) => o.value)}`).join('\n')
      if (arranged === this.arranged) return
      this.arranged = arranged
      const focused = this.shadowRoot.activeElement?.dataset.key
      const next = controls.find((c) => c.next)?.key
      const stepped = focused && focused === this.next
      this.next = next
      this.elements = {}
      const groups = new Map()
      const undo = make('span', { className: 'undo' })
      this.bar.replaceChildren(undo)
      for (const c of controls) {
        if (!c.group) {
          if (c.key === 'back' || c.key === 'restart') undo.append(this.control(c))
          else undo.before(this.control(c))
          continue
        }
        if (!groups.has(c.group)) groups.set(c.group, make('fieldset', {}, make('legend', { textContent: c.group })))
        groups.get(c.group).append(this.control(c))
      }
      this.controls.replaceChildren(...groups.values())
      if (focused) (this.elements[focused] ?? (stepped ? this.elements[next] : undefined) ?? this.picture).focus({ preventScroll: true })
    }

    control(c) {
      const element = this.elements[c.key] = make({ button: 'button', choice: 'select' }[c.kind] ?? 'input')
      element.dataset.key = c.key
      if (c.kind === 'button') {
        element.type = 'button'
        element.onclick = () => this.act(c.key)
        return element
      }
      element.oninput = () => this.act(c.key, c.kind === 'check' ? String(element.checked) : element.value)
      if (c.kind === 'choice') element.append(...c.options.map((o) => new Option(o.label, o.value)))
      else Object.assign(element, { type: c.kind === 'check' ? 'checkbox' : 'range', min: c.min, max: c.max })
      element.label = make('span')
      return make('label', {}, ...(c.kind === 'check' ? [element, element.label] : [element.label, element]))
    }

    update(c) {
      const element = this.elements[c.key]
      if (c.kind === 'button') {
        const arrow = c.next ? 'Right' : c.key === 'back' ? 'Left' : ''
        element.textContent = { Right: `${c.label} →`, Left: `← ${c.label}`, '': c.label }[arrow]
        if (arrow) element.setAttribute('aria-keyshortcuts', `Arrow${arrow}`)
        element.title = c.off
        element.toggleAttribute('data-off', Boolean(c.off))
        element.setAttribute('aria-disabled', String(Boolean(c.off))) // it keeps the focus, and says why
        return
      }
      element.label.textContent = c.kind === 'range' ? `${c.label}: ${c.value}` : c.label
      if (c.kind === 'check') element.checked = c.value === 'true'
      else if (element.value !== c.value) element.value = c.value
    }

    // The arrow keys step, unless something has the focus that uses them itself.
    step(event) {
      if (!this.view || event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return
      const key = { ArrowLeft: 'back', ArrowRight: this.view.controls.find((c) => c.next)?.key }[event.key]
      if (!key) return
      event.preventDefault()
      this.act(key)
    }
  }

  customElements.define('loop-figure', LoopFigure)
})()
