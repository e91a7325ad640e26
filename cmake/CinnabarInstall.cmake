# cmake --install: bin/ the two programs, lib/cinnabar/libtorch what the engine runs with, share/cinnabar the files they read.
option(CINNABAR_INSTALL_TORCH "Copy libtorch's libraries into the installed tree" ON)
include(GNUInstallDirs)

foreach(program cinnabar cinnabar-worker)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
if(TARGET cinnabar-worker)
  set_target_properties(cinnabar-worker PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/cinnabar/libtorch/lib")
endif()

file(REAL_PATH ${CINNABAR_TORCH} torch_folder)
if(CINNABAR_INSTALL_TORCH)
  foreach(part lib licenses)
    install(DIRECTORY ${torch_folder}/${part}/ DESTINATION lib/cinnabar/libtorch/${part} OPTIONAL)
  endforeach()
  install(FILES ${torch_folder}/version.py DESTINATION lib/cinnabar/libtorch OPTIONAL)
endif()

install(FILES ${CMAKE_SOURCE_DIR}/.deps/clip/bpe_simple_vocab_16e6.txt.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/cinnabar OPTIONAL)
install(FILES ${CMAKE_SOURCE_DIR}/.deps/clip/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/cinnabar RENAME LICENSE.clip OPTIONAL)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR}/cinnabar OPTIONAL
        PATTERN .cinnabar-cache EXCLUDE)  # latents of runs on the embedded pictures
foreach(file LICENSE README.md CHANGELOG.md)
  install(FILES ${CMAKE_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endforeach()
