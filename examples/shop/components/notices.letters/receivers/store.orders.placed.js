'use strict'

const { letter } = require('../lib/request.js')

exports.request = letter
