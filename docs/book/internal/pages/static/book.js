// What pages do beside VitePress: draw diagrams, and load the figures that run.
// A classic script, because it has to work from a folder, where no module can be
// loaded. VitePress calls update() whenever it has put another page in place.
(function () {
  'use strict'
  var here = document.currentScript.src.replace(/[^/]*$/, '') // .../book/
  var loading = {}

  function load(address) {
    return loading[address] || (loading[address] = new Promise(function (done, failed) {
      var script = document.createElement('script')
      script.src = address
      script.onload = done
      script.onerror = function () { failed(new Error('cannot load ' + address)) }
      document.head.appendChild(script)
    }))
  }

  function isDark() { return document.documentElement.classList.contains('dark') }

  // Each diagram keeps its source, so that it can be drawn again in other colors.
  var drawn = 0
  var queue = Promise.resolve()
  function draw() {
    var diagrams = document.querySelectorAll('.diagram')
    if (!diagrams.length) return queue
    queue = queue.then(function () { return load(here + 'mermaid.js') }).then(function () {
      var look = isDark() ? 'dark' : 'neutral'
      window.mermaid.initialize({ startOnLoad: false, theme: look, fontFamily: 'inherit', securityLevel: 'strict' })
      return Array.from(diagrams).reduce(function (before, diagram) {
        return before.then(function () { return drawOne(diagram, look) })
      }, Promise.resolve())
    }).catch(function (problem) { console.error(problem) })
    return queue
  }

  function drawOne(diagram, look) {
    if (diagram.dataset.look === look || !diagram.isConnected) return
    var source = diagram.querySelector('.diagram-source').textContent
    return window.mermaid.render('diagram-' + ++drawn, source).then(function (result) {
      var picture = diagram.querySelector('.diagram-picture')
      if (!picture) {
        picture = document.createElement('div')
        picture.className = 'diagram-picture'
        diagram.appendChild(picture)
      }
      picture.innerHTML = result.svg
      diagram.dataset.look = look
    })
  }

  function update() {
    if (document.querySelector('loop-figure')) load(here + '../figures/figures.js').catch(function (problem) { console.error(problem) })
    return draw()
  }

  window.loopwrightBook = { update: update, load: load, here: here }
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ['class'] })
  if (location.protocol === 'file:') update()
})()
