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

  var looks = {
    light: {
      primaryColor: '#eaf1fb', primaryBorderColor: '#9ab5d8', primaryTextColor: '#24292f', lineColor: '#6b7785', textColor: '#24292f',
      clusterBkg: '#f7f8fa', clusterBorder: '#d5dbe2', edgeLabelBackground: '#ffffff', noteBkgColor: '#fff8e1', noteBorderColor: '#e0cf98', noteTextColor: '#4d4326'
    },
    dark: {
      darkMode: true, background: '#1b1b1f', primaryColor: '#23344a', primaryBorderColor: '#4c6a8f', primaryTextColor: '#e0e6ee', lineColor: '#8b97a5', textColor: '#e0e6ee',
      clusterBkg: '#202127', clusterBorder: '#3c4149', edgeLabelBackground: '#1b1b1f', noteBkgColor: '#37311f', noteBorderColor: '#6d6238', noteTextColor: '#eadfb8'
    }
  }

  // Each diagram keeps its source, so that it can be drawn again in other colors.
  var drawn = 0
  var queue = Promise.resolve()
  function draw() {
    var diagrams = document.querySelectorAll('.diagram')
    if (!diagrams.length) return queue
    queue = queue.then(function () { return load(here + 'mermaid.js') }).then(function () {
      var look = isDark() ? 'dark' : 'light'
      window.mermaid.initialize(Object.assign({ startOnLoad: false, theme: 'base', themeVariables: looks[look], fontFamily: 'inherit', securityLevel: 'strict',
        flowchart: { rankSpacing: 36, nodeSpacing: 28, padding: 10 } }, window.loopwrightBook.diagrams))
      return Array.from(diagrams).reduce(function (before, diagram) {
        return before.then(function () { return drawOne(diagram, look) })
      }, Promise.resolve())
    }).then(backToTheHeading).catch(function (problem) { console.error(problem) })
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
      // A wide one shrinks as long as its words can be read; after that it scrolls in its box.
      var svg = picture.querySelector('svg')
      var natural = svg.viewBox.baseVal.width
      svg.style.width = '100%'
      svg.style.maxWidth = natural + 'px'
      svg.style.minWidth = natural * 0.45 > diagram.clientWidth ? natural * 0.65 + 'px' : '0'
      offerLarger(diagram, svg, natural)
      diagram.dataset.look = look
    })
  }

  // What does not fit, or is small, can be seen in a window of its own that Escape closes.
  function offerLarger(diagram, svg, natural) {
    var old = diagram.querySelector('.diagram-larger')
    if (old) old.remove()
    if (svg.clientWidth > natural * 0.6 && diagram.scrollWidth <= diagram.clientWidth || innerWidth < 960) return // a phone has no larger window
    var button = document.createElement('button')
    button.className = 'diagram-larger'
    button.textContent = 'Enlarge'
    button.addEventListener('click', function () {
      var dialog = document.createElement('dialog')
      dialog.className = 'diagram-dialog'
      dialog.tabIndex = 0
      var whole = svg.cloneNode(true)
      whole.style.width = natural + 'px'
      whole.style.minWidth = '0'
      whole.style.maxWidth = Math.max(natural * 0.65, innerWidth * 0.96 - 60) + 'px'
      dialog.appendChild(whole)
      dialog.addEventListener('click', function () { dialog.close() })
      dialog.addEventListener('close', function () { dialog.remove() })
      document.body.appendChild(dialog)
      dialog.showModal()
    })
    diagram.prepend(button)
  }

  // Drawing moves what is below. A reader who came for a heading, and has not moved yet, stays with it.
  var moved = false
  ;['wheel', 'touchmove', 'keydown', 'mousedown'].forEach(function (event) {
    addEventListener(event, function () { moved = true }, { passive: true })
  })
  function backToTheHeading() {
    var heading = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (heading && !moved) heading.scrollIntoView()
  }

  // The menu shows where the reader is: VitePress marks the page, but leaves it below the fold.
  function place() {
    var sidebar = document.querySelector('.VPSidebar')
    var row = sidebar && sidebar.querySelector('.VPSidebarItem.is-active > .item')
    if (!row) return
    var frame = sidebar.getBoundingClientRect()
    var at = row.getBoundingClientRect()
    if (at.top < frame.top + 80 || at.bottom > frame.bottom - 40) sidebar.scrollTop += at.top - frame.top - frame.height / 3
  }

  function update() {
    moved = false
    setTimeout(place) // VitePress has marked the page then, and unfolded its part of the menu
    if (document.querySelector('loop-figure')) load(here + '../figures/figures.js').catch(function (problem) { console.error(problem) })
    return draw()
  }

  window.loopwrightBook = { update: update, place: place, load: load, here: here }
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ['class'] })
  if (location.protocol === 'file:') update()
})()
